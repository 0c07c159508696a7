/** Plain ways to ask a container how it is: a command, an HTTP request, a TCP connection. */

import { request as requestHttp } from "node:http";
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
