/** Opens sockets to an API server: TCP or Unix, with TLS or without, directly or through a proxy. */

import { connect as connectTcp, isIP, type NetConnectOpts, type OnReadOpts, type Socket } from "node:net";
import type { ConnectionOptions, SecureContext } from "node:tls";
import type { Clock } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";
import { pieces } from "./pieces.ts";
import type { ServerAddress } from "./server-address.ts";
import { socks5 } from "./socks5.ts";

export interface DialTarget {
  /** `https://host:port`, `http://host:port` or `unix:/path`. */
  readonly server: ServerAddress;
  /** `http://`, `https://` or `socks5://`, with user and password where it asks for them. */
  readonly proxy?: URL;
  readonly secureContext?: SecureContext;
  /** The name that the server's certificate must carry, when it is not the host's. */
  readonly serverName?: string;
  readonly insecure?: boolean;
  readonly alpn?: readonly string[];
  /** Where to read into, and whom to tell; passed over on the way through a proxy, whose socket emits `data`. */
  readonly onread?: OnReadOpts;
  readonly clock: Clock;
}

const connectTimeoutMs = 10_000;
/** Larger than the default: a burst arrives in fewer pieces. */
const bufferBytes = 64 << 10;
/**
 * The kernel probes an idle connection from here on, once a second (libuv's interval), ten times: a peer
 * that is gone is noticed within half a minute, and one that is only quiet is left alone.
 */
const keepAliveAfterMs = 15_000;

/** A connected socket, with TLS already agreed. */
export async function dial(target: DialTarget): Promise<Socket> {
  const { server, clock } = target;
  const stages: Socket[] = [];
  let timedOut = false;
  const cancel = clock.timer(connectTimeoutMs, () => {
    timedOut = true;
    for (const socket of stages) giveUp(socket, new Error(`no answer within ${connectTimeoutMs} ms`));
  });
  try {
    let socket: Socket;
    if (target.proxy) {
      socket = await throughProxy(target, target.proxy, stages);
      if (server.secure) socket = await secure({ socket }, target, stages);
    } else {
      const { onread } = target;
      const where = server.socketPath
        ? { path: server.socketPath }
        : { host: server.host, port: server.port };
      socket = server.secure
        ? await secure({ ...where, ...(onread ? { onread } : {}) }, target, stages)
        : await open({ ...where, ...(onread ? { onread } : {}) }, stages);
    }
    socket.setNoDelay(true);
    if (!server.socketPath) socket.setKeepAlive(true, keepAliveAfterMs);
    return socket;
  } catch (error) {
    for (const socket of stages) giveUp(socket);
    throw timedOut ? new Error(`no answer within ${connectTimeoutMs} ms`, { cause: error }) : error;
  } finally {
    cancel();
  }
}

/** The end of one stage is an error of the next, and the caller that waited for that one has its error already. */
function giveUp(socket: Socket, error?: Error): void {
  socket.on("error", () => {});
  socket.destroy(error);
}

async function open(
  where: ({ path: string } | { host: string; port: number }) & { onread?: OnReadOpts },
  stages: Socket[],
): Promise<Socket> {
  const options: NetConnectOpts & { highWaterMark: number } = { ...where, highWaterMark: bufferBytes };
  const socket = connectTcp(options);
  stages.push(socket);
  await ready(socket, "connect");
  return socket;
}

/** TLS over a socket, or over a connection that it makes itself. */
async function secure(
  over: { socket: Socket } | { path: string } | { host: string; port: number; onread?: OnReadOpts },
  target: DialTarget,
  stages: Socket[],
): Promise<Socket> {
  const { connect } = await import("node:tls");
  const { server, serverName } = target;
  const name = serverName || (isIP(server.host) ? undefined : server.host);
  const options: ConnectionOptions & { onread?: OnReadOpts; highWaterMark: number } = {
    host: server.host,
    ...over,
    highWaterMark: bufferBytes,
    servername: name,
    secureContext: target.secureContext,
    rejectUnauthorized: !target.insecure,
    ALPNProtocols: [...(target.alpn ?? ["http/1.1"])],
  };
  const wrapped = connect(options);
  stages.push(wrapped);
  await ready(wrapped, "secureConnect");
  return wrapped;
}

async function throughProxy(target: DialTarget, proxy: URL, stages: Socket[]): Promise<Socket> {
  const host = proxy.hostname.replace(/^\[(.*)\]$/, "$1");
  const ports: Record<string, number> = { "http:": 80, "https:": 443, "socks5:": 1080, "socks5h:": 1080 };
  const port = proxy.port ? Number(proxy.port) : (ports[proxy.protocol] ?? 80);
  let socket: Socket;
  try {
    socket = await open({ host, port }, stages);
    if (proxy.protocol === "https:") {
      const { connect } = await import("node:tls");
      socket = connect({ socket, host, servername: isIP(host) ? undefined : host });
      stages.push(socket);
      await ready(socket, "secureConnect");
    }
    if (proxy.protocol.startsWith("socks5")) await socks5(socket, proxy, target.server);
    else await tunnel(socket, proxy, target.server);
  } catch (cause) {
    const message = errorText(cause);
    throw new ClientError(
      "ConnectionFailed",
      `the proxy ${proxy.host} gave no connection to ${target.server.text}: ${message}`,
      {
        cause,
      },
    );
  }
  return socket;
}

/** HTTP CONNECT. */
async function tunnel(socket: Socket, proxy: URL, server: ServerAddress): Promise<void> {
  const authority = `${server.host.includes(":") ? `[${server.host}]` : server.host}:${server.port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (proxy.username) {
    const secret = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(secret).toString("base64")}`);
  }
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await readUntil(socket, "\r\n\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})[^\r\n]*/.exec(head);
  if (status?.[1] !== "200")
    throw new Error(`it answered ${JSON.stringify(status?.[0] ?? head.slice(0, 80))}`);
}

/** Reads a head without taking a byte of what follows it. */
async function readUntil(socket: Socket, end: string): Promise<string> {
  let seen = Buffer.alloc(0);
  for await (const chunk of pieces(socket)) {
    seen = Buffer.concat([seen, chunk]);
    const at = seen.indexOf(end);
    if (at >= 0) {
      socket.unshift(seen.subarray(at + end.length));
      return seen.toString("latin1", 0, at);
    }
    if (seen.length > 16 << 10) throw new Error("its answer is no HTTP");
  }
  throw new Error("it closed the connection");
}

function ready(socket: Socket, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      socket.off(event, onReady).off("error", settle).off("close", onClose);
      if (error) reject(error);
      else resolve();
    };
    const onReady = () => settle();
    const onClose = () => settle(new Error("the server closed the connection before it was set up"));
    socket.once(event, onReady).once("error", settle).once("close", onClose);
  });
}
