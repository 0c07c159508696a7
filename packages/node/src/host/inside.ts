/** The program that runs inside the cluster's namespace. */
import { NodeError } from "../errors.ts";
import type { Fault } from "../faults/fault.ts";
import type { ExposedPort, Exposure } from "../network/exposures.ts";
import { SandboxRuntime } from "../runtime/sandbox-runtime.ts";
import { Channel } from "./channel.ts";
import type { InsideConfig, InsideSandboxes } from "./inside-config.ts";
import { InsideHost } from "./inside-host.ts";
import { remoteImages } from "./remote-images.ts";

const log = (message: string) => console.log(message);
let runtime: SandboxRuntime | undefined;
let host: InsideHost | undefined;

const channel = new Channel(process, {
  prepare: async ({ runDirectory, ...rest }: InsideSandboxes) => {
    runtime = await SandboxRuntime.start({ ...rest, directory: runDirectory, log });
  },
  start: async (config: InsideConfig) => {
    if (runtime === undefined) throw new NodeError("BadConfiguration", "the sandboxes are not prepared");
    const outside = {
      images: remoteImages(channel),
      expose: (exposure: Exposure) => channel.ask<void>("expose", exposure),
      unexpose: (port: ExposedPort) => channel.ask<void>("unexpose", port),
      log,
    };
    host = await InsideHost.start(config, outside, runtime);
  },
  inject: (fault: Fault) => host?.inject(fault),
  stop: async (graceMs: number) => {
    await host?.stop(graceMs);
    setImmediate(() => process.exit(0));
  },
});

// The starter is gone: so are we, and with us everything inside.
process.on("disconnect", () => process.exit(0));
// Our end would be every pod's end: a stray error of one connection is not worth that.
process.on("uncaughtException", (error) => log(`unexpected: ${error.stack ?? String(error)}`));
process.on("unhandledRejection", (error) =>
  log(`unexpected: ${error instanceof Error ? error.stack : String(error)}`),
);
