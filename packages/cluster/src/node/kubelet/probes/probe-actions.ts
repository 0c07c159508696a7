/** The ways to ask a container how it is: a command, an HTTP request, a TCP connection, a gRPC health check. */

import { request as requestHttp } from "node:http";
import { connect as connectHttp2, constants as http2 } from "node:http2";
import { request as requestHttps } from "node:https";
import { connect as connectTcp } from "node:net";
import type { HTTPGetAction } from "@keelson/core/kinds";
import type { ContainerHandle } from "../../runtime/container-runtime.ts";
import type { ProbeOutcome } from "./probe-worker.ts";

const maxMessage = 10 * 1024;
const maxRedirects = 10;
const good: ProbeOutcome = { ok: true, message: "" };
const bad = (message: string): ProbeOutcome => ({ ok: false, message: message.slice(0, maxMessage) });

export async function probeCommand(
  handle: ContainerHandle,
  command: readonly string[],
  timeoutMs: number,
): Promise<ProbeOutcome> {
  let output = "";
  try {
    const session = await handle.exec({ command });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      session.kill();
    }, timeoutMs);
    const read = async (stream: AsyncIterable<unknown> | undefined) => {
      for await (const chunk of stream ?? []) if (output.length < maxMessage) output += String(chunk);
    };
    const reading = Promise.all([read(session.stdout), read(session.stderr)]);
    const code = await session.exited;
    clearTimeout(timer);
    await reading;
    if (timedOut)
      return bad(
        `command timed out: ${JSON.stringify(command.join(" "))} timed out after ${timeoutMs / 1000}s`,
      );
    return code === 0 ? good : bad(output);
  } catch (error) {
    return bad(messageOf(error));
  }
}

export interface HttpProbe {
  readonly host: string;
  readonly port: number;
  readonly action: HTTPGetAction;
  readonly timeoutMs: number;
}

/** 200 to 399 is well. Redirects within the host are followed; one to elsewhere is an answer like any other. */
export async function probeHttp(probe: HttpProbe): Promise<ProbeOutcome> {
  const { action, host, port } = probe;
  const scheme = (action.scheme ?? "HTTP").toLowerCase();
  const path = action.path ?? "/";
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const url = `${scheme}://${authority}${path.startsWith("/") ? path : `/${path}`}`;
  const headers: Record<string, string> = {
    "user-agent": "kube-probe/1.36",
    accept: "*/*",
    connection: "close",
  };
  for (const { name, value } of action.httpHeaders ?? []) headers[name.toLowerCase()] = value;
  return await follow(new URL(url), url, headers, probe.timeoutMs, maxRedirects);
}

async function follow(
  target: URL,
  asked: string,
  headers: Record<string, string>,
  timeoutMs: number,
  redirects: number,
): Promise<ProbeOutcome> {
  const { promise, resolve } = Promise.withResolvers<ProbeOutcome>();
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(
    target,
    { method: "GET", headers, agent: false, rejectUnauthorized: false },
    (response) => {
      const status = response.statusCode ?? 0;
      response.resume();
      const location = response.headers.location;
      const next = status >= 300 && status < 400 && location ? new URL(location, target) : undefined;
      if (next !== undefined && next.hostname === target.hostname) {
        resolve(
          redirects === 0
            ? bad("stopped after 10 redirects")
            : follow(next, asked, headers, timeoutMs, redirects - 1),
        );
      } else if (status >= 200 && status < 400) resolve(good);
      else resolve(bad(`HTTP probe failed with statuscode: ${status}`));
      request.destroy();
    },
  );
  const timer = setTimeout(() => {
    resolve(
      bad(
        `Get ${JSON.stringify(asked)}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      ),
    );
    request.destroy();
  }, timeoutMs);
  request.on("error", (error) =>
    resolve(
      bad(
        `Get ${JSON.stringify(asked)}: ${dialError(error, target.hostname, target.port || (target.protocol === "https:" ? "443" : "80"))}`,
      ),
    ),
  );
  request.end();
  return await promise.finally(() => clearTimeout(timer));
}

export async function probeTcp(host: string, port: number, timeoutMs: number): Promise<ProbeOutcome> {
  const { promise, resolve } = Promise.withResolvers<ProbeOutcome>();
  const socket = connectTcp({ host, port });
  const timer = setTimeout(() => resolve(bad(`dial tcp ${host}:${port}: i/o timeout`)), timeoutMs);
  socket.once("connect", () => resolve(good));
  socket.once("error", (error) => resolve(bad(dialError(error, host, String(port)))));
  return await promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

const servingStatus = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** `grpc.health.v1.Health/Check`, in the clear. */
export async function probeGrpc(
  host: string,
  port: number,
  service: string,
  timeoutMs: number,
): Promise<ProbeOutcome> {
  const { promise, resolve } = Promise.withResolvers<ProbeOutcome>();
  const where = JSON.stringify(`${host}:${port}`);
  const session = connectHttp2(`http://${host}:${port}`);
  const timer = setTimeout(
    () =>
      resolve(
        bad(
          `timeout: failed to connect service ${where} within ${timeoutMs / 1000}s: context deadline exceeded`,
        ),
      ),
    timeoutMs,
  );
  session.on("error", (error) =>
    resolve(bad(`error: failed to connect service at ${where}: ${messageOf(error)}`)),
  );
  const stream = session.request({
    [http2.HTTP2_HEADER_METHOD]: "POST",
    [http2.HTTP2_HEADER_PATH]: "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "kube-probe/1.36",
  });
  const chunks: Buffer[] = [];
  let code = "0";
  let said = "";
  const onHeaders = (headers: Record<string, unknown>) => {
    if (headers["grpc-status"] !== undefined) code = String(headers["grpc-status"]);
    if (headers["grpc-message"] !== undefined) said = String(headers["grpc-message"]);
  };
  stream.on("response", onHeaders).on("trailers", onHeaders);
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", (error) =>
    resolve(bad(`error: failed to connect service at ${where}: ${messageOf(error)}`)),
  );
  stream.on("end", () => {
    if (code === "12")
      return resolve(
        bad("error: this server does not implement the grpc health protocol (grpc.health.v1.Health)"),
      );
    if (code !== "0")
      return resolve(bad(`error: health rpc probe failed: rpc error: code = ${code} desc = ${said}`));
    const message = Buffer.concat(chunks).subarray(5);
    // The only field: status, number 1, a varint. Absent means zero.
    const status = servingStatus[message[0] === 0x08 ? (message[1] ?? 0) : 0] ?? "UNKNOWN";
    resolve(
      status === "SERVING" ? good : bad(`service unhealthy (responded with ${JSON.stringify(status)})`),
    );
  });
  stream.end(grpcMessage(service));
  return await promise.finally(() => {
    clearTimeout(timer);
    session.destroy();
  });
}

/** Uncompressed, length before content; the request's only field is the service's name. */
function grpcMessage(service: string): Buffer {
  const name = Buffer.from(service);
  const body = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Node's words for a failed connection, in the words that people know from the kubelet. */
function dialError(error: NodeJS.ErrnoException, host: string, port: string): string {
  const words: Record<string, string> = {
    ECONNREFUSED: "connect: connection refused",
    EHOSTUNREACH: "connect: no route to host",
    ENETUNREACH: "connect: network is unreachable",
    ETIMEDOUT: "i/o timeout",
  };
  const known = words[error.code ?? ""];
  if (known !== undefined) return `dial tcp ${host}:${port}: ${known}`;
  if (error.code === "ECONNRESET")
    return error.message === "socket hang up" ? "EOF" : "read: connection reset by peer";
  return messageOf(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
