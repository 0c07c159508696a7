/** The node's own API, as a kubelet serves it: logs, exec, attach, port-forward, pods and figures. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, parseTime } from "@keelson/core";
import { createAuthority, createLeaf } from "@keelson/pki";
import type { NodeApi } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import { type LogQuery, type LogSource, readLog } from "../kubelet/log-reader.ts";
import type { PodManager } from "../kubelet/pod-manager.ts";
import type { PodWorker } from "../kubelet/pod-worker.ts";
import { type Endpoint, listen } from "../network/relay.ts";
import { Authentication } from "./authentication.ts";
import { commandProtocols, openCommandStreams } from "./command-streams.ts";
import { forwardedPorts, portForwardProtocols, runPortForward } from "./port-forward.ts";
import { requireRunning, runAttach, runExec } from "./remote-command.ts";
import { resourceMetrics, statsSummary } from "./stats.ts";
import { acceptUpgrade, refuse } from "./upgrade.ts";

export interface KubeletServerOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly nodeName: string;
  /** What the server is reached as beside the node's name, localhost and 127.0.0.1. */
  readonly addresses?: readonly string[];
  readonly pods: Pick<PodManager, "workers" | "find">;
  /** PEM: certificates signed by it are believed. */
  readonly clientCa?: string;
  readonly log: (message: string) => void;
}

const dayMs = 86_400_000;
/** As a kubelet: streams on which nothing moves for so long are closed. */
const idleMs = 4 * 3_600_000;
/** Of a command whose output is collected. */
const mostOutput = 16 * 1024 * 1024;
const isTrue = (value: string | null) => value === "1" || value === "true";

export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #server: Server;
  readonly #authentication: Authentication;
  readonly #open = new Set<Duplex>();

  constructor(options: KubeletServerOptions) {
    this.#options = options;
    this.#authentication = new Authentication(options);
    const now = options.clock.now();
    const authority = createAuthority(`${options.nodeName}-ca`, now - dayMs, now + 3650 * dayMs);
    const leaf = createLeaf(authority, {
      subject: { commonName: `system:node:${options.nodeName}`, organizations: ["system:nodes"] },
      names: [...new Set([options.nodeName, "localhost", "127.0.0.1", ...(options.addresses ?? [])])],
      usages: ["server"],
      notBeforeMs: now - dayMs,
      notAfterMs: now + 3650 * dayMs,
    });
    this.#server = createServer(
      {
        cert: leaf.certificate,
        key: leaf.key,
        ca: options.clientCa,
        requestCert: true,
        // Without a certificate a token may do; which of them counts is decided per request.
        rejectUnauthorized: false,
      },
      (request, response) => {
        this.#serve(request, response).catch(() => response.destroy());
      },
    );
    this.#server.on("upgrade", (request, socket, head) => {
      this.#upgrade(request, socket, head).catch(() => socket.destroy());
    });
    this.#server.on("connection", (socket: Duplex) => {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
    });
    this.#server.on("tlsClientError", () => undefined);
  }

  /** 0 on a Unix socket. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async listen(endpoint: Endpoint): Promise<void> {
    await listen(this.#server, endpoint);
  }

  close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = targetOf(request);
    if (target === undefined) return plain(response, 400, "malformed request target");
    const { url, segments } = target;
    const [route = "", ...rest] = segments;
    try {
      if (route === "healthz") return void response.end("ok");
      const admission = await this.#authentication.admit(request, verbOf(request), subresourceOf(route));
      if (admission === "unauthenticated") return plain(response, 401, "Unauthorized");
      if (admission === "forbidden") return plain(response, 403, "Forbidden");
      await this.#route(route, rest, url, request, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else plain(response, statusOf(error), error instanceof Error ? error.message : String(error));
    }
  }

  async #route(
    route: string,
    rest: readonly string[],
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { pods, nodeName } = this.#options;
    switch (route) {
      case "containerLogs":
        return await this.#logs(rest, url.searchParams, request, response);
      case "run":
        return await this.#run(rest, url.searchParams, response);
      case "pods":
      case "runningpods": {
        const items = pods.workers().map(({ pod }) => pod);
        return json(response, { kind: "PodList", apiVersion: "v1", metadata: {}, items });
      }
      case "stats":
        return json(response, await statsSummary(nodeName, pods.workers(), this.#options.clock));
      case "metrics":
        response.setHeader("content-type", "text/plain; version=0.0.4");
        return void response.end(await resourceMetrics(pods.workers(), this.#options.clock));
      case "configz":
        return json(response, {
          kubeletconfig: { kind: "KubeletConfiguration", apiVersion: "kubelet.config.k8s.io/v1beta1" },
        });
      case "exec":
      case "attach":
      case "portForward":
        return plain(response, 400, "you must specify an upgrade to SPDY/3.1 or websocket");
      default:
        return plain(response, 404, "404 page not found");
    }
  }

  async #logs(
    [namespace = "", name = "", container = ""]: readonly string[],
    params: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const worker = this.#pod(namespace, name);
    if (worker.containers.record(container) === undefined) {
      throw new NodeError(
        "NotFound",
        `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`,
      );
    }
    let source: LogSource;
    try {
      source = worker.logSource(container, isTrue(params.get("previous")));
    } catch (error) {
      plain(response, 400, error instanceof Error ? error.message : String(error));
      return;
    }
    const abort = new AbortController();
    request.socket.once("close", () => abort.abort());
    response.once("close", () => abort.abort());
    const query = logQuery(params, this.#options.clock.now(), abort.signal);
    response.setHeader("content-type", "text/plain; charset=utf-8");
    response.flushHeaders();
    for await (const chunk of readLog(source, query)) {
      if (abort.signal.aborted) return;
      if (!response.write(chunk))
        await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
    }
    response.end();
  }

  async #run(
    [namespace = "", name = "", container = ""]: readonly string[],
    params: URLSearchParams,
    response: ServerResponse,
  ) {
    const running = requireRunning(this.#pod(namespace, name).running(container), container);
    const session = await running.handle.exec({ command: (params.get("cmd") ?? "").split(" ") });
    let output = "";
    const read = async (stream: AsyncIterable<unknown> | undefined) => {
      for await (const chunk of stream ?? []) {
        output += String(chunk);
        if (output.length > mostOutput) session.kill();
      }
    };
    response.once("close", () => session.kill());
    await Promise.all([read(session.stdout), read(session.stderr)]);
    const code = await session.exited;
    plain(
      response,
      code === 0 ? 200 : 500,
      code === 0 ? output : `${output}command terminated with exit code ${code}`,
    );
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => undefined);
    (socket as Socket).setTimeout?.(idleMs, () => socket.destroy());
    const target = targetOf(request);
    if (target === undefined) return refuse(socket, 400, "malformed request target");
    const [route = "", namespace = "", name = "", ...rest] = target.segments;
    const params = target.url.searchParams;
    try {
      const admission = await this.#authentication.admit(request, verbOf(request), subresourceOf(route));
      if (admission === "unauthenticated") return refuse(socket, 401, "Unauthorized");
      if (admission === "forbidden") return refuse(socket, 403, "Forbidden");
      if (route === "portForward") {
        const { sandbox } = this.#pod(namespace, name);
        if (sandbox === undefined) throw new NodeError("NotFound", `pod ${name} is not running`);
        const ports = forwardedPorts(params.getAll("port"));
        const upgrade = acceptUpgrade(request, socket, head, portForwardProtocols);
        if (upgrade !== undefined) await runPortForward(upgrade, sandbox, ports);
        return;
      }
      if (route !== "exec" && route !== "attach") return refuse(socket, 404, "404 page not found");
      // The pod's UID may stand between its name and the container's.
      const container = rest.at(-1) ?? "";
      const running = requireRunning(
        this.#pod(namespace, name, rest.length > 1 ? rest[0] : undefined).running(container),
        container,
      );
      const wanted = {
        stdin: isTrue(params.get("input")),
        stdout: isTrue(params.get("output")),
        stderr: isTrue(params.get("error")),
        tty: isTrue(params.get("tty")),
      };
      const upgrade = acceptUpgrade(request, socket, head, commandProtocols);
      if (upgrade === undefined) return;
      const streams = await openCommandStreams(upgrade, wanted);
      if (route === "attach") await runAttach(running, wanted, streams);
      else await runExec(running, params.getAll("command"), wanted, streams);
    } catch (error) {
      if (!socket.destroyed && socket.writable)
        refuse(socket, statusOf(error), error instanceof Error ? error.message : String(error));
    }
  }

  #pod(namespace: string, name: string, uid?: string): PodWorker {
    const worker = this.#options.pods.find(namespace, name, uid);
    if (worker === undefined)
      throw new NodeError("NotFound", `pod ${JSON.stringify(`${name}_${namespace}`)} not found`);
    return worker;
  }
}

/** Undefined for what no client would send. */
function targetOf(request: IncomingMessage): { url: URL; segments: string[] } | undefined {
  try {
    const url = new URL(request.url ?? "/", "https://node");
    return { url, segments: url.pathname.split("/").filter(Boolean).map(decodeURIComponent) };
  } catch {
    return undefined;
  }
}

function statusOf(error: unknown): number {
  if (error instanceof RangeError) return 400;
  return error instanceof NodeError && error.code === "NotFound" ? 404 : 500;
}

/** Throws a RangeError for values that mean nothing. */
function logQuery(params: URLSearchParams, now: number, signal: AbortSignal): LogQuery {
  const number = (name: string) => {
    const text = params.get(name);
    if (text === null) return undefined;
    if (!/^\d{1,15}$/.test(text)) throw new RangeError(`invalid ${name} ${JSON.stringify(text)}`);
    return Number(text);
  };
  const time = () => {
    const text = params.get("sinceTime");
    if (text === null) return undefined;
    try {
      return parseTime(text);
    } catch {
      throw new RangeError(`invalid sinceTime ${JSON.stringify(text)}`);
    }
  };
  const seconds = number("sinceSeconds");
  const stream = params.get("stream")?.toLowerCase();
  return {
    follow: isTrue(params.get("follow")),
    tailLines: number("tailLines"),
    limitBytes: number("limitBytes"),
    timestamps: isTrue(params.get("timestamps")),
    since: seconds === undefined ? time() : now - seconds * 1000,
    ...(stream === "stdout" || stream === "stderr" ? { stream } : {}),
    signal,
  };
}

/** The kubelet's mapping of requests to permissions on `nodes/…`. */
function subresourceOf(route: string): string {
  const known = new Map([
    ["stats", "stats"],
    ["metrics", "metrics"],
    ["logs", "log"],
    ["configz", "configz"],
    ["pods", "pods"],
  ]);
  return known.get(route) ?? "proxy";
}

function verbOf(request: IncomingMessage): string {
  const verbs: Record<string, string> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
  return verbs[request.method ?? ""] ?? "get";
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
