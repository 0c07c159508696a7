/** Questions to a cluster that runs in the background, over a Unix socket that only its owner reaches. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { parseJson } from "@keelson/core";
import { type Fault, NodeError, type NodeErrorCode } from "@keelson/node";
import { ClusterError } from "../errors.ts";

export interface ControlHandlers {
  inject(fault: Fault): Promise<void>;
}

interface Answer {
  readonly error?: { readonly message: string; readonly code?: string };
}

export async function serveControl(path: string, handlers: ControlHandlers): Promise<AsyncDisposable> {
  await rm(path, { force: true });
  const server = createServer({ allowHalfOpen: true }, async (socket) => {
    socket.on("error", () => undefined);
    let answer: Answer = {};
    try {
      const { inject } = parseJson(await text(socket)) as { inject: Fault };
      await handlers.inject(inject);
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      answer = { error: { message, ...(code === undefined ? {} : { code }) } };
    }
    socket.end(JSON.stringify(answer));
  });
  server.listen(path);
  await once(server, "listening");
  return {
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Throws what the cluster threw. */
export async function askToInject(path: string, fault: Fault): Promise<void> {
  const socket = connect({ path, allowHalfOpen: true });
  try {
    await once(socket, "connect");
  } catch (cause) {
    throw new ClusterError("NotRunning", "the cluster does not answer; is it up?", { cause });
  }
  socket.end(JSON.stringify({ inject: fault }));
  const { error } = parseJson(await text(socket)) as Answer;
  if (error !== undefined)
    throw new NodeError((error.code ?? "SandboxFailed") as NodeErrorCode, error.message);
}
