/** `pods()`: logs, exec, attach and port-forward. */
import type { Duplex } from "node:stream";
import type { ObjectRef } from "@keelson/core";
import type { Client } from "../client/client.ts";
import type { LogOptions } from "./logs.ts";
import type { ForwardedPort, ForwardOptions, PortForwardOptions } from "./port-forward.ts";
import type { AttachOptions, ExecOptions, RemoteProcess, RunOptions, RunResult } from "./remote-process.ts";

/** What one can do with a running pod. The code behind each verb is loaded when it is first used. */
export interface PodClient {
  /** Lines, without their newline. Ends when the container does, or when the log has been read without `follow`. */
  logs(ref: ObjectRef, options?: LogOptions): AsyncIterable<string>;
  /** The log as it is stored, chunk by chunk. */
  logBytes(ref: ObjectRef, options?: LogOptions): AsyncIterable<Uint8Array>;
  /** Starts a command in a container. Resolves when it runs. */
  exec(ref: ObjectRef, options: ExecOptions): Promise<RemoteProcess>;
  /** Runs a command to its end and returns what it printed. A failing command is a result, not an error. */
  run(ref: ObjectRef, options: RunOptions): Promise<RunResult>;
  /** Joins the container's own process. */
  attach(ref: ObjectRef, options?: AttachOptions): Promise<RemoteProcess>;
  /** One connection to a port inside the pod. */
  portForward(ref: ObjectRef, port: number, options?: PortForwardOptions): Promise<Duplex>;
  /** Listens on this machine; each connection made to it leads into the pod. */
  forward(ref: ObjectRef, options: ForwardOptions): Promise<ForwardedPort>;
}

/** Logs, exec, attach and port-forward of pods. */
export function pods(client: Client): PodClient {
  return {
    logs: (ref, options) => lazily(async () => (await import("./logs.ts")).logLines(client, ref, options)),
    logBytes: (ref, options) =>
      lazily(async () => (await import("./logs.ts")).logBytes(client, ref, options)),
    exec: async (ref, options) => await (await import("./remote-process.ts")).exec(client, ref, options),
    run: async (ref, options) => await (await import("./remote-process.ts")).run(client, ref, options),
    attach: async (ref, options) => await (await import("./remote-process.ts")).attach(client, ref, options),
    portForward: async (ref, port, options) =>
      await (await import("./port-forward.ts")).portForward(client, ref, port, options),
    forward: async (ref, options) => await (await import("./port-forward.ts")).forward(client, ref, options),
  };
}

async function* lazily<T>(load: () => Promise<AsyncIterable<T>>): AsyncGenerator<T, void, void> {
  yield* await load();
}
