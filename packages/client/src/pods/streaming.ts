/** How exec, attach and port-forward leave HTTP for a WebSocket. */
import type { Duplex } from "node:stream";
import type { ObjectRef } from "@keelson/core";
import type { Client } from "../client/client.ts";
import { ApiError, ClientError } from "../errors.ts";
import { WebSocketConnection } from "../websocket/connection.ts";

const openTimeoutMs = 30_000;
/** Load balancers cut connections that are silent for a minute or more. */
const pingEveryMs = 30_000;

export interface OpenStream {
  readonly doing: string;
  readonly path: string;
  /** Subprotocols, the one we like best first. */
  readonly protocols: readonly string[];
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface OpenedStream {
  readonly socket: WebSocketConnection;
  readonly protocol: string;
  /** Ends the pings; the socket is the caller's. */
  readonly release: () => void;
}

export function podPath(ref: ObjectRef, subresource: string, doing: string): string {
  if (!ref.namespace || !ref.name) {
    throw new ClientError("InvalidRequest", `cannot ${doing}: a pod is named by its namespace and its name`);
  }
  return `/api/v1/namespaces/${encodeURIComponent(ref.namespace)}/pods/${encodeURIComponent(ref.name)}/${subresource}`;
}

/** Upgrades to a WebSocket with one of our protocols. */
export async function openStream(client: Client, open: OpenStream): Promise<OpenedStream> {
  const { http, clock, random } = client;
  if (!http.upgrade) {
    throw new ClientError("UpgradeRefused", `cannot ${open.doing}: this connection carries no streams`);
  }
  const stop = new AbortController();
  const forward = () => stop.abort(open.signal?.reason);
  if (open.signal?.aborted) forward();
  open.signal?.addEventListener("abort", forward, { once: true });
  const timeoutMs = open.timeoutMs ?? openTimeoutMs;
  const cancel = clock.timer(timeoutMs, () =>
    stop.abort(new ClientError("Timeout", `no answer within ${timeoutMs} ms`)),
  );
  try {
    const { protocol, stream } = await http.upgrade({
      method: "GET",
      path: open.path,
      headers: {
        ...client.headers,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.from(random.bytes(16)).toString("base64"),
        "sec-websocket-protocol": open.protocols.join(", "),
      },
      signal: stop.signal,
      streaming: true,
    });
    return accept(client, open, protocol, stream);
  } catch (cause) {
    if (open.signal?.aborted) throw open.signal.reason;
    if (cause instanceof ApiError) throw new ApiError(cause.status, { doing: open.doing, cause });
    if (cause instanceof ClientError) {
      throw new ClientError(cause.code, `cannot ${open.doing}: ${cause.message}`, { cause });
    }
    throw new ClientError("ConnectionLost", `cannot ${open.doing}: ${(cause as Error).message}`, { cause });
  } finally {
    cancel();
    open.signal?.removeEventListener("abort", forward);
  }
}

function accept(client: Client, open: OpenStream, protocol: string, stream: Duplex): OpenedStream {
  if (!open.protocols.includes(protocol)) {
    stream.destroy();
    const offered = open.protocols.join(" or ");
    throw new ClientError(
      "UpgradeRefused",
      `the server chose ${protocol ? `the protocol ${JSON.stringify(protocol)}` : "no protocol"}, and we speak ${offered}; is it older than Kubernetes 1.30?`,
    );
  }
  const socket = new WebSocketConnection(stream, { role: "client", random: client.random });
  const onAbort = () => stream.destroy(open.signal?.reason as Error);
  open.signal?.addEventListener("abort", onAbort, { once: true });
  let cancel: () => void;
  const beat = () => {
    socket.ping().catch(() => {});
    cancel = client.clock.timer(pingEveryMs, beat);
  };
  cancel = client.clock.timer(pingEveryMs, beat);
  const release = () => {
    cancel();
    open.signal?.removeEventListener("abort", onAbort);
  };
  stream.once("close", release);
  return { socket, protocol, release };
}
