/** `keelson image load|list|tag|push|prune`. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { type OutputFormat, output, print } from "../output.ts";
import { progress } from "../progress.ts";

const name = (brief: string, placeholder: string) => ({ parse: String, brief, placeholder });

const load = buildCommand<{ readonly output?: OutputFormat }, [string]>({
  docs: { brief: "Load an OCI layout, an OCI archive or the output of docker save" },
  parameters: {
    flags: { output },
    positional: { kind: "tuple", parameters: [name("File or folder", "path")] },
  },
  async func({ output }, path) {
    const { loadImages } = await import("@keelson/images");
    const line = progress(this.process);
    const loaded = await loadImages(path, { onProgress: line.show }).finally(line.end);
    if (output !== undefined) return await print(this.process, loaded, output);
    for (const { name } of loaded) this.process.stdout.write(`Loaded ${name}\n`);
  },
});

const list = buildCommand<{ readonly output?: OutputFormat }>({
  docs: { brief: "List the images that pods can use" },
  parameters: { flags: { output } },
  async func({ output }) {
    const { Images } = await import("@keelson/images");
    const images = await new Images({}).list();
    if (output !== undefined) return await print(this.process, images, output);
    for (const image of images) this.process.stdout.write(`${image.names.join(", ")}\n`);
  },
});

const tag = buildCommand<Record<never, never>, [string, string]>({
  docs: { brief: "Give an image that is here another name, for a manifest that asks for it" },
  parameters: {
    flags: {},
    positional: {
      kind: "tuple",
      parameters: [name("An image that is here", "image"), name("The name that it gets too", "name")],
    },
  },
  async func(_, image, name) {
    const { tagImage } = await import("../build/tag-image.ts");
    const line = progress(this.process);
    const tagged = await tagImage(image, name, line.show).finally(line.end);
    this.process.stdout.write(`${tagged.name} is ${tagged.digest}\n`);
  },
});

const push = buildCommand<Record<never, never>, [string]>({
  docs: { brief: "Push an image that was built or loaded here to its registry" },
  parameters: {
    flags: {},
    positional: { kind: "tuple", parameters: [name("Its name, with the registry", "image")] },
  },
  async func(_, image) {
    const { pushStored } = await import("../deploy/push-stored.ts");
    const line = progress(this.process);
    const digest = await pushStored(image, line.show).finally(line.end);
    this.process.stdout.write(`${image} is pushed as ${digest}\n`);
  },
});

const prune = buildCommand<{ readonly output?: OutputFormat }>({
  docs: {
    brief: "Remove what no image needs, no pod uses and nobody wanted for an hour; every build does it too",
  },
  parameters: { flags: { output } },
  async func({ output }) {
    const { ImageStore } = await import("@keelson/images");
    const line = progress(this.process);
    line.show("looking for what no image needs");
    const pruned = await new ImageStore().prune().finally(line.end);
    if (output !== undefined) return await print(this.process, pruned, output);
    this.process.stdout.write(`Removed ${pruned.roots} unpacked images and ${pruned.blobs} blobs\n`);
  },
});

export const image = buildRouteMap({
  routes: { load, list, tag, push, prune },
  docs: { brief: "Images for pods" },
});
