/** The program that runs inside the cluster's namespace. */
import type { Fault } from "../faults/fault.ts";
import { Channel } from "./channel.ts";
import type { InsideConfig } from "./inside-config.ts";
import { InsideHost } from "./inside-host.ts";
import { remoteImages } from "./remote-images.ts";

const log = (message: string) => console.log(message);
let host: InsideHost | undefined;

const channel = new Channel(process, {
  start: async (config: InsideConfig) => {
    host = await InsideHost.start(config, {
      images: remoteImages(channel),
      expose: (exposure) => channel.ask("expose", exposure),
      unexpose: (port) => channel.ask("unexpose", port),
      log,
    });
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
