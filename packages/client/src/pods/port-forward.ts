/** Ports inside a pod, as streams and as a listener on this machine. */

import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ObjectRef } from "@keelson/core";
import { asError } from "@keelson/core/internal";
import type { Client, RequestOptions } from "../client/client.ts";
import { ClientError } from "../errors.ts";
import { SpdyConnection, type SpdyStream } from "../spdy/connection.ts";
import { tunnel } from "../websocket/tunnel.ts";
import { openStream, podPath } from "./streaming.ts";

/** How a port of a pod is reached. */
export type PortForwardOptions = RequestOptions;

/** Which port of a pod is forwarded to this machine. */
export interface ForwardOptions {
  /** The port inside the pod. */
  readonly port: number;
  /** The port here. Default: the kernel chooses one. */
  readonly localPort?: number;
  /** Default: 127.0.0.1. */
  readonly localAddress?: string;
  /** Told of connections that could not be made or that broke. */
  readonly onError?: (error: Error) => void;
}

/** A local port that leads to a pod until it is disposed of. */
export interface ForwardedPort extends AsyncDisposable {
  readonly localPort: number;
  close(): Promise<void>;
}

const protocol = "SPDY/3.1+portforward.k8s.io";

/**
 * Opens one connection to a port of a pod. Each has a WebSocket of its own: streams that share one hold each other
 * up, because SPDY's flow control is not part of what Kubernetes speaks.
 */
export async function portForward(
  client: Client,
  ref: ObjectRef,
  port: number,
  options: PortForwardOptions = {},
): Promise<Duplex> {
  const doing = `connect to port ${port} of Pod ${ref.namespace}/${ref.name}`;
  const { socket } = await openStream(client, {
    doing,
    path: podPath(ref, "portforward", doing),
    protocols: [protocol],
    signal: options.signal,
    timeoutMs: options.timeoutMs,
  });
  const connection = new SpdyConnection(tunnel(socket), { role: "client" });
  try {
    const headers = { port: String(port), requestid: "0" };
    const errors = await connection.createStream({ ...headers, streamtype: "error" });
    errors.end();
    const data = await connection.createStream({ ...headers, streamtype: "data" });
    watchErrors(errors, data, doing);
    data.once("close", () => void connection.close());
    return data;
  } catch (cause) {
    await connection.close();
    throw new ClientError("StreamBroken", `cannot ${doing}: ${(cause as Error).message}`, { cause });
  }
}

/** The server says on its own stream why a connection could not be made. */
function watchErrors(errors: SpdyStream, data: SpdyStream, doing: string): void {
  let message = "";
  errors.setEncoding("utf8");
  errors.on("data", (text: string) => {
    message += text;
  });
  errors.once("end", () => {
    if (message !== "") data.destroy(new ClientError("StreamBroken", `cannot ${doing}: ${message.trim()}`));
  });
}

export async function forward(
  client: Client,
  ref: ObjectRef,
  options: ForwardOptions,
): Promise<ForwardedPort> {
  const { createServer } = await import("node:net");
  const open = new Set<Duplex>();
  const fail = (error: unknown) => options.onError?.(asError(error));
  const server = createServer({ allowHalfOpen: true }, (local) => {
    open.add(local);
    local.once("close", () => open.delete(local));
    portForward(client, ref, options.port).then(
      (remote) => {
        open.add(remote);
        remote.once("close", () => open.delete(remote));
        join(local, remote, fail);
      },
      (error: unknown) => {
        fail(error);
        local.destroy();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.localPort ?? 0, options.localAddress ?? "127.0.0.1", resolve);
  });
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const stream of open) stream.destroy();
    await closed;
  };
  return { localPort: (server.address() as AddressInfo).port, close, [Symbol.asyncDispose]: close };
}

function join(local: Socket, remote: Duplex, fail: (error: unknown) => void): void {
  local.on("error", () => remote.destroy());
  remote.on("error", (error) => {
    fail(error);
    local.destroy();
  });
  local.once("close", () => remote.destroy());
  remote.once("close", () => local.end());
  local.pipe(remote);
  remote.pipe(local);
}
