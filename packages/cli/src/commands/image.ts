/** `keelson image load|list`. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { progress } from "../progress.ts";

const load = buildCommand<Record<never, never>, [string]>({
  docs: { brief: "Load an OCI layout, an OCI archive or the output of docker save" },
  parameters: {
    flags: {},
    positional: {
      kind: "tuple",
      parameters: [{ parse: String, brief: "File or folder", placeholder: "path" }],
    },
  },
  async func(_, path) {
    const { loadImages } = await import("@keelson/images");
    const line = progress(this.process);
    let loaded: Awaited<ReturnType<typeof loadImages>>;
    try {
      loaded = await loadImages(path, { onProgress: line.show });
    } finally {
      line.end();
    }
    for (const { name } of loaded) this.process.stdout.write(`Loaded ${name}\n`);
  },
});

const list = buildCommand({
  docs: { brief: "List the images that pods can use" },
  parameters: { flags: {} },
  async func() {
    const { Images } = await import("@keelson/images");
    for (const image of await new Images({}).list()) this.process.stdout.write(`${image.names.join(", ")}\n`);
  },
});

export const image = buildRouteMap({ routes: { load, list }, docs: { brief: "Images for pods" } });
