/**
 * Calls over gRPC: those that etcd's JSON gateway cannot serve, which are snapshots of any size and 3.4's hash of the
 * keys, and those that may take minutes. A member that works on one answers pings all the while.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { grpcFrame, grpcMessages } from "@keelson/core/internal";
import { EtcdError, refusal } from "./errors.ts";
import type { CallOptions, EtcdAddress } from "./etcd.ts";
import { fieldsOf } from "./protobuf.ts";

export interface GrpcCall {
  /** `/etcdserverpb.Maintenance/Snapshot` */
  readonly path: string;
  /** An encoded message. */
  readonly request: Uint8Array;
  readonly token?: string | undefined;
}

/** Packets that are dropped would hold a call for as long as the kernel tries. */
const connectTimeoutMs = 5_000;

/** How a member is known to be there while it works on a call. */
export interface Pulse {
  /** etcd closes connections that ping more often than every 5 s (`--grpc-keepalive-min-time`). */
  readonly everyMs: number;
  readonly withinMs: number;
}

const defaultPulse: Pulse = { everyMs: 6_000, withinMs: 5_000 };

export interface GrpcOptions extends CallOptions {
  /** Default: a ping every 6 s, which must be answered within 5 s. */
  readonly pulse?: Pulse;
}

/** The messages of the answer, one by one, as they arrive; what is not read is not sent. */
export async function* callGrpc(
  address: EtcdAddress,
  call: GrpcCall,
  options: GrpcOptions = {},
): AsyncIterable<Buffer> {
  const { host, port, tls } = address;
  const authority = `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const session = connect(authority, {
    ...(tls && {
      ca: tls.ca,
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    }),
  });
  const release = watchOver(session, options.pulse ?? defaultPulse);
  try {
    yield* answers(session, address, call, options);
  } finally {
    release();
    session.destroy();
  }
}

/** Ends the session when nobody is there any more, however long its call may take. */
function watchOver(session: ClientHttp2Session, { everyMs, withinMs }: Pulse): () => void {
  const endAfter = (ms: number, lack: string) =>
    setTimeout(() => session.destroy(new Error(`no ${lack} within ${ms / 1_000} s`)), ms);
  let timer = endAfter(connectTimeoutMs, "connection");
  const ping = () => {
    timer = endAfter(withinMs, "sign of life");
    session.ping((error) => {
      clearTimeout(timer);
      if (!error) timer = setTimeout(ping, everyMs);
    });
  };
  // A process that hangs still takes connections: only what it says itself counts.
  session.once("remoteSettings", () => {
    clearTimeout(timer);
    timer = setTimeout(ping, everyMs);
  });
  return () => clearTimeout(timer);
}

async function* answers(
  session: ClientHttp2Session,
  { host, port }: EtcdAddress,
  { path, request, token }: GrpcCall,
  { signal, timeoutMs }: CallOptions,
): AsyncIterable<Buffer> {
  const unreachable = (cause: Error) =>
    new EtcdError("Unreachable", `no answer from etcd at ${host}:${port} to ${path}: ${cause.message}`, {
      cause,
    });
  let broken: Error | undefined;
  session.once("error", (error) => {
    broken ??= error;
  });
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...(token === undefined ? {} : { token }),
  });
  const abort = () => stream.destroy(new Error("the call was ended"));
  signal?.addEventListener("abort", abort, { once: true });
  if (timeoutMs)
    stream.setTimeout(timeoutMs, () => stream.destroy(new Error(`no answer in ${timeoutMs} ms`)));
  let trailer: { status: string; message: string } | undefined;
  const judge = (headers: Readonly<Record<string, unknown>>) => {
    const status = headers["grpc-status"];
    if (status === undefined) return;
    trailer = {
      status: String(status),
      message: decodeURIComponent(String(headers["grpc-message"] ?? "")),
    };
  };
  stream.once("response", judge);
  stream.once("trailers", judge);
  stream.end(grpcFrame(request));
  try {
    yield* grpcMessages(stream);
  } catch (error) {
    throw unreachable(broken ?? (error as Error));
  } finally {
    signal?.removeEventListener("abort", abort);
    stream.destroy();
  }
  if (!trailer) throw unreachable(broken ?? new Error("the answer ended without a status"));
  if (trailer.status !== "0") throw refusal(path, trailer.message || `gRPC status ${trailer.status}`);
}

/** The only message of an answer. */
export async function grpcUnary(
  address: EtcdAddress,
  call: GrpcCall,
  options?: GrpcOptions,
): Promise<ReturnType<typeof fieldsOf>> {
  let answer: Buffer | undefined;
  for await (const message of callGrpc(address, call, options)) answer ??= Buffer.from(message);
  return fieldsOf(answer ?? Buffer.alloc(0));
}
