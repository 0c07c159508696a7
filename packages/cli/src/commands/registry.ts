/** `keelson registry`: pushes and pulls of the images that pods use. */
import { buildCommand } from "@stricli/core";
import { PORT, wholeNumber } from "../whole-number.ts";

interface RegistryFlags {
  readonly port: number;
}

export const registry = buildCommand<RegistryFlags>({
  docs: {
    brief: "Serve the image store to tools that push and pull",
    fullDescription:
      "Runs until it is interrupted. An image that is pushed to localhost:5000/app:1 is there for pods under that name.",
  },
  parameters: {
    flags: {
      port: {
        kind: "parsed",
        parse: wholeNumber(PORT),
        brief: "Port on loopback, 0 for a free one",
        default: "5000",
      },
    },
  },
  async func({ port }) {
    const { startRegistry } = await import("@keelson/images");
    await using running = await startRegistry({ port });
    this.process.stdout.write(`${running.address}\n`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    });
  },
});
