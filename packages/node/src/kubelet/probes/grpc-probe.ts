/** A gRPC health check, as a probe: `grpc.health.v1.Health/Check`, in the clear, in the words of the kubelet. */
import { STATUS_CODES } from "node:http";
import { connect, constants } from "node:http2";
import type { ProbeOutcome } from "./probe-worker.ts";

export interface GrpcProbe {
  readonly host: string;
  readonly port: number;
  /** Empty asks for the server as a whole. */
  readonly service: string;
  readonly timeoutMs: number;
}

const servingStatus = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
/** By their numbers. */
const codes = [
  ...["OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists"],
  ...["PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange"],
  ...["Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated"],
];
/** What an answer that is no gRPC counts as, by its HTTP status; anything else is Unknown. */
const codesOfHttp: Readonly<Record<number, string>> = {
  400: "Internal",
  401: "Unauthenticated",
  403: "PermissionDenied",
  404: "Unimplemented",
  429: "Unavailable",
  502: "Unavailable",
  503: "Unavailable",
  504: "Unavailable",
};

type Headers = Readonly<Record<string, unknown>>;

export async function probeGrpc({ host, port, service, timeoutMs }: GrpcProbe): Promise<ProbeOutcome> {
  const { promise, resolve } = Promise.withResolvers<ProbeOutcome>();
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const within = goDuration(timeoutMs);
  // The kubelet keeps trying to connect until its time is up, and says no more than that. We say it at once.
  const unconnected = `timeout: failed to connect service ${JSON.stringify(address)} within ${within}: context deadline exceeded`;
  let isConnected = false;
  const session = connect(`http://${address}`);
  session.once("remoteSettings", () => {
    isConnected = true;
  });
  const timer = setTimeout(
    () => resolve(bad(isConnected ? `timeout: health rpc did not complete within ${within}` : unconnected)),
    timeoutMs,
  );
  const fails = (code: string, why: string) => resolve(isConnected ? refused(code, why) : bad(unconnected));
  session.on("error", (error) => fails("Unavailable", error.message));
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "kube-probe/1.36",
  });
  const chunks: Buffer[] = [];
  let head: Headers = {};
  let tail: Headers | undefined;
  stream.on("response", (headers, flags) => {
    head = headers;
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) tail = headers;
  });
  stream.on("trailers", (headers) => {
    tail = headers;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => {});
  stream.on("close", () => {
    if (!isConnected || head[":status"] === undefined) {
      const reason = resetReasons[stream.rstCode] ?? String(stream.rstCode);
      if (session.closed || session.destroyed) fails("Unavailable", "error reading from server: EOF");
      else fails(codeOfReset(reason), `stream terminated by RST_STREAM with error code: ${reason}`);
    } else resolve(outcomeOf(head, tail, Buffer.concat(chunks)));
  });
  stream.end(grpcMessage(service));
  return await promise.finally(() => {
    clearTimeout(timer);
    session.destroy();
  });
}

function outcomeOf(head: Headers, tail: Headers | undefined, body: Buffer): ProbeOutcome {
  const odd = oddAnswer(head);
  if (odd) return odd;
  const number = tail?.["grpc-status"];
  if (number === undefined) return refused("Internal", "server closed the stream without sending trailers");
  const said = decoded(String(tail?.["grpc-message"] ?? ""));
  if (number !== "0") return refused(codes[Number(number)] ?? `Code(${number})`, said);
  if (body.length < headBytes) {
    const why = "cardinality violation: received no response message from non-server-streaming RPC";
    return refused("Internal", why);
  }
  // The only field: status, number 1, a varint. Absent means zero.
  const value = body[headBytes] === 0x08 ? (body[headBytes + 1] ?? 0) : 0;
  const status = servingStatus[value] ?? String(value);
  if (status === "SERVING") return { ok: true, message: "" };
  return bad(`service unhealthy (responded with ${JSON.stringify(status)})`);
}

/** An answer of something that speaks HTTP/2 and no gRPC. */
function oddAnswer(head: Headers): ProbeOutcome | undefined {
  const type = head["content-type"];
  const status = Number(head[":status"]);
  if (status === 200 && /^application\/grpc([+;]|$)/.test(String(type))) return undefined;
  const kind =
    type === undefined
      ? "malformed header: missing HTTP content-type"
      : `transport: received unexpected content-type ${JSON.stringify(type)}`;
  const answer = `unexpected HTTP status code received from server: ${status} (${STATUS_CODES[status] ?? ""})`;
  return refused(codesOfHttp[status] ?? "Unknown", `${answer}; ${kind}`);
}

function refused(code: string, message: string): ProbeOutcome {
  if (code === "Unimplemented") {
    const what = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return bad(`${what}: ${message}`);
  }
  return bad(`error: health rpc probe failed: rpc error: code = ${code} desc = ${message}`);
}

function bad(message: string): ProbeOutcome {
  return { ok: false, message };
}

const resetReasons = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT"],
  ...["STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR"],
  ...["CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
];

function codeOfReset(reason: string): string {
  const known: Record<string, string> = { REFUSED_STREAM: "Unavailable", CANCEL: "Canceled" };
  return known[reason] ?? "Internal";
}

/** A flag for compression and the length, before each message. */
const headBytes = 5;

/** Uncompressed; the request's only field is the service's name. */
function grpcMessage(service: string): Buffer {
  const name = Buffer.from(service);
  const body =
    name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** Messages travel percent-encoded. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** Whole seconds as Go prints them: 5s, 1m0s, 1h0m0s. */
function goDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}
