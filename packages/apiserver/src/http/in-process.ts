/** The server as an HTTP port without a socket. */
import { duplexPair } from "node:stream";
import type { HttpPort, HttpRequest, HttpResponse, HttpUpgrade } from "@keelson/core";
import type { UserInfo } from "../contracts/authentication.ts";
import { badRequest, failure } from "../contracts/status-error.ts";
import {
  isHijack,
  isStream,
  type Pieces,
  type ServerRequest,
  type ServerResponse,
  type Sink,
} from "../messages/message.ts";

export type Dispatch = (request: ServerRequest, user?: UserInfo) => Promise<ServerResponse>;

/** Requests without credentials of their own are made as `user`. */
export function inProcessPort(dispatch: Dispatch, user: UserInfo): HttpPort {
  return {
    upgrade: (request) => upgrade(dispatch, request, user),
    async request(request: HttpRequest): Promise<HttpResponse> {
      request.signal?.throwIfAborted();
      const response = await dispatch(
        {
          method: request.method,
          target: request.path,
          headers: request.headers ?? {},
          body: async () => bytesOf(request.body),
          signal: request.signal ?? new AbortController().signal,
        },
        request.headers?.authorization ? undefined : user,
      );
      const { body } = response;
      return {
        status: response.status,
        headers: response.headers,
        body: isStream(body)
          ? streamed(body.open, request.signal)
          : once(isHijack(body) ? new Uint8Array() : bytesOf(body)),
      };
    },
  };
}

/** Rejects with the Status when the server does not answer 101. */
async function upgrade(dispatch: Dispatch, request: HttpRequest, user: UserInfo): Promise<HttpUpgrade> {
  const response = await dispatch(
    {
      method: request.method,
      target: request.path,
      headers: request.headers ?? {},
      body: async () => new Uint8Array(),
      signal: request.signal ?? new AbortController().signal,
      canUpgrade: true,
    },
    request.headers?.authorization ? undefined : user,
  );
  const { body } = response;
  if (!isHijack(body)) {
    const text = isStream(body) ? "" : Buffer.from(bytesOf(body)).toString();
    throw failure({ code: response.status, reason: "", message: text });
  }
  return new Promise((resolve, reject) => {
    const [near, far] = duplexPair();
    body
      .hijack({
        accept(_status, headers) {
          const protocol = headers["sec-websocket-protocol"] ?? headers["x-stream-protocol-version"] ?? "";
          resolve({ protocol: typeof protocol === "string" ? protocol : (protocol[0] ?? ""), stream: near });
          return far;
        },
        refuse(status, bytes) {
          reject(failure({ code: status, reason: "", message: Buffer.from(bytes).toString() }));
        },
      })
      .catch(reject);
  });
}

function bytesOf(body: Uint8Array | string | Pieces | undefined): Uint8Array {
  if (body === undefined) return new Uint8Array();
  if (typeof body === "object" && !(body instanceof Uint8Array)) return Buffer.concat(body);
  return typeof body === "string" ? Buffer.from(body) : body;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** Opened at once, so that a watch misses nothing between its answer and its first read. */
function streamed(open: (sink: Sink) => void, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const closers: (() => void)[] = [];
  const drains: (() => void)[] = [];
  let pendingBytes = 0;
  let state: "open" | "ended" | "broken" = "open";
  let wake: (() => void) | undefined;
  const notify = () => {
    wake?.();
    wake = undefined;
  };
  const finish = (next: "ended" | "broken") => {
    if (state !== "open") return;
    state = next;
    for (const run of [...closers.splice(0), ...drains.splice(0)]) run();
    notify();
  };
  signal?.addEventListener("abort", () => finish("broken"), { once: true });
  open({
    write(chunk) {
      if (state !== "open") return;
      chunks.push(chunk);
      pendingBytes += chunk.length;
      notify();
    },
    get pendingBytes() {
      return pendingBytes;
    },
    drained: () =>
      chunks.length === 0 || state !== "open"
        ? Promise.resolve()
        : new Promise((resolve) => drains.push(resolve)),
    end: () => finish("ended"),
    abort: () => finish("broken"),
    onClose(run) {
      if (state === "open") closers.push(run);
      else run();
    },
  });
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          const chunk = chunks.shift();
          if (chunk) {
            pendingBytes -= chunk.length;
            if (chunks.length === 0) for (const run of drains.splice(0)) run();
            yield chunk;
          } else if (state === "ended") return;
          else if (state === "broken") {
            signal?.throwIfAborted();
            throw badRequest("the connection was broken off");
          } else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        finish("ended");
      }
    },
  };
}
