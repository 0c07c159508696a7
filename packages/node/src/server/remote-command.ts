/** exec and attach: a client's streams joined to a process in a container. */
import type { Readable, Writable } from "node:stream";
import { NodeError } from "../errors.ts";
import type { RunningContainer } from "../kubelet/pod-containers.ts";
import type { CommandStreams, StreamRequest } from "./command-streams.ts";

const mostUnreadBytes = 4 * 1024 * 1024;

export async function runExec(
  running: RunningContainer,
  command: readonly string[],
  request: StreamRequest,
  streams: CommandStreams,
): Promise<void> {
  try {
    const session = await running.handle.exec({ command, stdin: request.stdin, tty: request.tty });
    streams.onResize((size) => void session.resize(size));
    connectInput(streams.stdin, session.stdin);
    void streams.closed.then(() => session.kill());
    await Promise.all([copy(session.stdout, streams.stdout), copy(session.stderr, streams.stderr)]);
    await streams.finish({ exitCode: await session.exited });
  } catch (error) {
    await streams.finish({ error: error instanceof Error ? error.message : String(error) });
  }
}

/** Joins the container's own output and, where it has one, its input. Ends with the container. */
export async function runAttach(
  running: RunningContainer,
  request: StreamRequest,
  streams: CommandStreams,
): Promise<void> {
  const { handle, record } = running;
  const listener = (stream: "stdout" | "stderr", chunk: Buffer) => {
    const target = stream === "stdout" || request.tty ? streams.stdout : streams.stderr;
    if (!target?.writable) return;
    // The container must not wait for a client, and the node must not hold for it what it does not read.
    if (target.writableLength > mostUnreadBytes) streams.destroy();
    else target.write(chunk);
  };
  running.listeners.add(listener);
  streams.onResize((size) => void handle.resize(size));
  if (request.stdin && handle.stdin !== undefined && streams.stdin !== undefined) {
    streams.stdin.pipe(handle.stdin, { end: record.spec.stdinOnce ?? false });
  }
  const left = await Promise.race([handle.exited, streams.closed.then(() => undefined)]);
  running.listeners.delete(listener);
  if (handle.stdin !== undefined) streams.stdin?.unpipe(handle.stdin);
  if (left !== undefined) await streams.finish({ exitCode: left.code });
}

export function requireRunning(running: RunningContainer | undefined, container: string): RunningContainer {
  if (running === undefined)
    throw new NodeError("NotFound", `container not found (${JSON.stringify(container)})`);
  return running;
}

function connectInput(from: Readable | undefined, to: Writable | undefined): void {
  if (from === undefined || to === undefined) return;
  to.on("error", () => from.unpipe(to));
  from.pipe(to);
}

function copy(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined) return Promise.resolve();
  if (to === undefined) {
    from.resume();
    return new Promise((resolve) => from.once("close", resolve));
  }
  from.pipe(to, { end: false });
  return new Promise((resolve) => {
    from
      .once("end", resolve)
      .once("close", resolve)
      .once("error", () => resolve());
    to.once("close", () => {
      from.unpipe(to);
      from.resume();
      resolve();
    });
  });
}
