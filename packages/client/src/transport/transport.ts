/** The HTTP port over sockets: pooled HTTP/1.1, one connection per stream, credentials that may change. */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import type { Clock, HttpHeaders, HttpPort, HttpRequest, HttpResponse, HttpUpgrade } from "@keelson/core";
import { systemClock } from "@keelson/core";
import { asError, errorText } from "@keelson/core/internal";
import type { Dispatcher, Pool } from "undici";
import { ApiError, ClientError } from "../errors.ts";
import { webSocketAccept } from "../websocket/connection.ts";
import { collect, statusOf } from "./answer.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { type DialTarget, dial } from "./dial.ts";
import { connectionFailed, connectionLost } from "./failures.ts";
import { ResponseBody } from "./response-body.ts";
import { parseServer, type ServerAddress } from "./server-address.ts";
import { openStream } from "./stream.ts";

/** Who we are at this moment. */
export interface Credential {
  readonly headers?: HttpHeaders;
  /** PEM. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Where the credentials of requests come from; asked again when the server refuses them. */
export interface Credentials {
  /** Asked before every request: what is known is not waited for, and the same object while nothing changed. */
  current(): Credential | Promise<Credential>;
  /** The server answered 401 to `credential`. True when another try with `current()` may fare better. */
  refused(credential: Credential): Promise<boolean>;
}

/** Authorities that may be replaced while we run, as a cluster's are when its own is rotated. */
export interface Authority {
  /** What `read` would give, where nothing has to be waited for; it is asked before every request. */
  readonly fresh?: string | undefined;
  read(): Promise<string>;
  /** The server's certificate was not signed by what `read` gave: look again. */
  expire(): void;
}

/** Addresses, certificates and limits of a transport. */
export interface TransportSettings {
  /** `https://host:port/prefix`, `http://…` or `unix:/path`. */
  readonly server: string;
  /** PEM of the authorities that may have signed the server's certificate; the system's when absent. */
  readonly ca?: string | Authority;
  /** The name in the server's certificate, when it is not the host's. */
  readonly serverName?: string;
  /** Trusts any server. */
  readonly insecure?: boolean;
  readonly credentials?: Credentials;
  readonly proxy?: string;
  /** Requests under way at the same time, streams apart; more wait their turn. Default: 32. */
  readonly connections?: number;
  /** Uses HTTP/2 for requests where the server offers it; HTTP/1.1 costs less unless there are very many. */
  readonly http2?: boolean;
  readonly clock?: Clock;
}

/** Sends HTTP requests to one server. */
export interface Transport extends HttpPort {
  /** The server as its address has it, without scheme and path. */
  readonly host: string;
  upgrade(request: HttpRequest): Promise<HttpUpgrade>;
  /** Breaks what still streams, lets requests finish. */
  close(): Promise<void>;
}

/** undici, for what few operators need; loaded for the first request that needs it. */
interface Undici {
  /** HTTP/2, where it was asked for. */
  readonly requests: Pool;
  /** For what leaves HTTP, or sends a body before it streams. */
  readonly streams: Pool;
}

/** How the server is reached with one set of certificates. */
class Route {
  readonly target: DialTarget;
  readonly pool: ConnectionPool;
  readonly #load: () => Promise<Undici>;
  #undici: Promise<Undici> | undefined;

  constructor(target: DialTarget, pool: ConnectionPool, load: () => Promise<Undici>) {
    this.target = target;
    this.pool = pool;
    this.#load = load;
  }

  undici(): Promise<Undici> {
    this.#undici ??= this.#load();
    return this.#undici;
  }

  /** What is under way may finish. */
  async retire(): Promise<void> {
    const undici = await this.#undici;
    await Promise.all([this.pool.close(), undici?.requests.close(), undici?.streams.close()]);
  }

  /** Breaks what streams. */
  async close(): Promise<void> {
    const undici = await this.#undici?.catch(() => undefined);
    await Promise.all([this.pool.close(), undici?.streams.destroy(), undici?.requests.close()]);
  }
}

/** Of whom nothing is known. */
const anonymous: Credential = {};

/** Servers close idle connections after 90 s and more; staying well below avoids sending into a closing one. */
const idleMs = 30_000;
const defaultConnections = 32;

export function createTransport(settings: TransportSettings): Transport {
  return new SocketTransport(settings);
}

class SocketTransport implements Transport {
  readonly #settings: TransportSettings;
  readonly #server: ServerAddress;
  readonly #proxy: URL | undefined;
  #route: Promise<Route> | undefined;
  /** What `#route` gave. */
  #open: Route | undefined;
  /** Of whom and to whom the route is. */
  #identity: { certificate?: string | undefined; key?: string | undefined; authority?: string | undefined } =
    {};
  #closed = false;
  readonly #streams = new Set<Socket>();
  /** The headers of the last request with those of its credential: most requests have the same. */
  #signed:
    | { readonly plain: HttpHeaders | undefined; readonly by: Credential; readonly all: HttpHeaders }
    | undefined;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.#server = parseServer(settings.server);
    this.#proxy = settings.proxy && !this.#server.socketPath ? parseProxy(settings.proxy) : undefined;
  }

  get host(): string {
    const { socketPath, host, port } = this.#server;
    return socketPath ?? `${bracketed(host)}:${port}`;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const asked = this.#credential();
    const credential = asked instanceof Promise ? await asked : asked;
    const route = this.#openRoute(credential) ?? (await this.#routeFor(credential));
    const response = await this.#send(route, request, credential);
    if (response.status !== 401 || !(await this.#settings.credentials?.refused(credential))) return response;
    await collect(response, 64 << 10);
    const next = await this.#credential();
    return await this.#send(await this.#routeFor(next), request, next);
  }

  async upgrade(request: HttpRequest): Promise<HttpUpgrade> {
    const credential = await this.#credential();
    const route = await this.#routeFor(credential);
    const { streams } = await route.undici();
    request.check?.();
    const exchange = new Exchange(this.#server.text, request.signal);
    const { upgrade, connection: _connection, ...headers } = { ...request.headers, ...credential.headers };
    streams.dispatch(
      {
        ...this.#dispatchOptions(request, headers),
        upgrade: typeof upgrade === "string" ? upgrade : "websocket",
      },
      exchange,
    );
    const answer = await exchange.response.catch((error: unknown) => this.#failed(error));
    if ("socket" in answer) {
      return { protocol: protocolOf(answer.headers), stream: checkAccept(answer, request) };
    }
    const text = (await collect(answer, 1 << 20)).toString("utf8");
    throw new ApiError(statusOf(text, answer.status), { doing: `upgrade ${request.path}` });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const socket of this.#streams) socket.destroy();
    const route = await this.#route?.catch(() => undefined);
    await route?.close();
  }

  #credential(): Credential | Promise<Credential> {
    return this.#settings.credentials?.current() ?? anonymous;
  }

  #headers({ headers }: HttpRequest, credential: Credential): HttpHeaders {
    const last = this.#signed;
    if (last && last.plain === headers && last.by === credential) return last.all;
    const all = { ...headers, ...credential.headers };
    this.#signed = { plain: headers, by: credential, all };
    return all;
  }

  async #send(route: Route, request: HttpRequest, credential: Credential): Promise<HttpResponse> {
    const headers = this.#headers(request, credential);
    try {
      if (!request.streaming && !this.#settings.http2) return await route.pool.request(request, headers);
      if (request.streaming && request.body === undefined)
        return await openStream(route.target, request, headers, (socket) => this.#track(socket));
    } catch (error) {
      this.#failed(error);
    }
    const { requests, streams } = await route.undici();
    request.check?.();
    const exchange = new Exchange(this.#server.text, request.signal);
    const pool = request.streaming ? streams : requests;
    pool.dispatch(this.#dispatchOptions(request, headers), exchange);
    const answer = await exchange.response.catch((error: unknown) => this.#failed(error));
    if ("socket" in answer)
      throw new ClientError("InvalidResponse", "the server left HTTP without being asked");
    return answer;
  }

  #track(socket: Socket): void {
    if (this.#closed) socket.destroy();
    this.#streams.add(socket);
    socket.once("close", () => this.#streams.delete(socket));
  }

  #dispatchOptions(request: HttpRequest, headers: HttpHeaders): Dispatcher.DispatchOptions {
    return {
      method: request.method,
      path: this.#server.prefix + request.path,
      headers: headers as Record<string, string | string[] | undefined>,
      body: request.body,
      // Time is the caller's business: it has a clock that can be held.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  #failed(error: unknown): never {
    const { ca } = this.#settings;
    if (typeof ca === "object" && error instanceof ClientError && error.code === "ServerUntrusted")
      ca.expire();
    throw error;
  }

  /** The route that is there, where it is this credential's and nothing has to be waited for. */
  #openRoute(credential: Credential): Route | undefined {
    if (!this.#open || this.#closed) return undefined;
    const { ca } = this.#settings;
    return this.#isOf(credential, typeof ca === "object" ? ca.fresh : ca) ? this.#open : undefined;
  }

  async #routeFor(credential: Credential): Promise<Route> {
    if (this.#closed) throw new ClientError("ConnectionFailed", "the client was closed");
    const { ca } = this.#settings;
    const authority = typeof ca === "object" ? await ca.read() : ca;
    if (this.#route && this.#isOf(credential, authority)) return await this.#route;
    const old = this.#route;
    const { certificate, key } = credential;
    this.#identity = { certificate, key, authority };
    this.#open = undefined;
    const next = this.#createRoute(credential, authority);
    this.#route = next;
    old?.then((route) => route.retire()).catch(() => {});
    const route = await next;
    if (this.#route === next) this.#open = route;
    return route;
  }

  /** Whether the route is of this credential, to who is signed by this authority. */
  #isOf({ certificate, key }: Credential, authority: string | undefined): boolean {
    const last = this.#identity;
    return last.certificate === certificate && last.key === key && last.authority === authority;
  }

  async #createRoute(credential: Credential, authority: string | undefined): Promise<Route> {
    const target: DialTarget = {
      server: this.#server,
      proxy: this.#proxy,
      clock: this.#settings.clock ?? systemClock,
      serverName: this.#settings.serverName,
      insecure: this.#settings.insecure,
      secureContext: this.#server.secure ? await secureContext(credential, authority) : undefined,
      alpn: ["http/1.1"],
    };
    const connections = this.#settings.connections ?? defaultConnections;
    const pool = new ConnectionPool(target, { connections, idleMs });
    return new Route(target, pool, () => this.#loadUndici(target));
  }

  async #loadUndici(target: DialTarget): Promise<Undici> {
    const { default: PoolClass } = await import("undici/lib/dispatcher/pool.js");
    const { connections, http2 } = this.#settings;
    const origin = originOf(this.#server);
    const common = { pipelining: 1, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };
    return {
      requests: new PoolClass(origin, {
        ...common,
        connections: connections ?? defaultConnections,
        allowH2: http2 ?? false,
        connect: connector(http2 ? { ...target, alpn: ["h2", "http/1.1"] } : target),
      }),
      streams: new PoolClass(origin, { ...common, allowH2: false, connect: connector(target) }),
    };
  }
}

/** Made once for all connections: reading the certificates again for each would cost more than its handshake. */
async function secureContext(credential: Credential, ca: string | undefined): Promise<SecureContext> {
  const [{ createSecureContext }, { X509Certificate }] = await Promise.all([
    import("node:tls"),
    import("node:crypto"),
  ]);
  const checked = <T>(what: string, make: () => T): T => {
    try {
      return make();
    } catch (cause) {
      const message = errorText(cause);
      throw new ClientError(
        "CertificateUnreadable",
        `the ${what} cannot be used: ${message}; it must be PEM`,
        {
          cause,
        },
      );
    }
  };
  // A secure context takes anything for an authority, and then trusts nobody.
  if (ca !== undefined) checked("cluster's certificate-authority", () => new X509Certificate(ca));
  const authorities = ca ?? (await systemAuthorities());
  return checked("client certificate and its key", () =>
    createSecureContext({
      ca: authorities,
      // As kubectl does: what is given may be an intermediate authority, or the server's own certificate.
      allowPartialTrustChain: true,
      cert: credential.certificate,
      key: credential.key,
    }),
  );
}

/** Node's own list and, where Node can read it, the machine's: kubectl trusts the latter. */
async function systemAuthorities(): Promise<string[] | undefined> {
  const tls = await import("node:tls");
  return "getCACertificates" in tls
    ? [...tls.getCACertificates("bundled"), ...tls.getCACertificates("system")]
    : undefined;
}

function connector(target: DialTarget) {
  return (
    _options: object,
    callback: (...result: [Error, null] | [null, Awaited<ReturnType<typeof dial>>]) => void,
  ) => {
    dial(target).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(asError(error), null),
    );
  };
}

function originOf({ secure, host, port }: ServerAddress): string {
  return `${secure ? "https" : "http"}://${bracketed(host)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function parseProxy(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url !== null && ["http:", "https:", "socks5:", "socks5h:"].includes(url.protocol)) return url;
  throw new ClientError(
    "KubeconfigInvalid",
    `the proxy address ${JSON.stringify(text)} cannot be used: its scheme must be http, https or socks5`,
  );
}

type Upgraded = { readonly socket: Duplex; readonly headers: HttpHeaders };

/** One request on its way through undici, up to the response or to the upgraded socket. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse | Upgraded>;
  readonly #server: string;
  readonly #signal: AbortSignal | undefined;
  #resolve!: (response: HttpResponse | Upgraded) => void;
  #reject!: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: ResponseBody | undefined;
  readonly #onAbort = () => this.#abort();

  constructor(server: string, signal: AbortSignal | undefined) {
    this.#server = server;
    this.#signal = signal;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (signal?.aborted) this.#reject(signal.reason);
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal?.aborted) controller.abort(asError(this.#signal.reason));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: HttpHeaders): void {
    if (status < 200) return;
    this.#body = new ResponseBody({
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      cancel: () => {
        this.#release();
        controller.abort(new Error("the body was not wanted any more"));
      },
    });
    this.#resolve({ status, headers, body: this.#body });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.#release();
    this.#body?.end();
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: HttpHeaders,
    socket: Duplex,
  ): void {
    this.#release();
    this.#resolve({ socket, headers });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#release();
    const error = this.#signal?.aborted
      ? this.#signal.reason
      : this.#controller
        ? connectionLost(this.#server, cause)
        : connectionFailed(this.#server, cause);
    this.#body?.fail(error);
    this.#reject(error);
  }

  #abort(): void {
    const reason: unknown = this.#signal?.reason;
    this.#body?.fail(reason);
    this.#reject(reason);
    this.#controller?.abort(asError(reason));
  }

  #release(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}

function protocolOf(headers: HttpHeaders): string {
  const value = headers["sec-websocket-protocol"] ?? headers["x-stream-protocol-version"] ?? "";
  return typeof value === "string" ? value : (value[0] ?? "");
}

/** A proxy that replays an old answer would pass for a WebSocket otherwise. */
function checkAccept(answer: Upgraded, request: HttpRequest): Duplex {
  const key = request.headers?.["sec-websocket-key"];
  if (typeof key !== "string") return answer.socket;
  if (answer.headers["sec-websocket-accept"] === webSocketAccept(key)) return answer.socket;
  answer.socket.destroy();
  throw new ClientError(
    "UpgradeRefused",
    `cannot upgrade ${request.path}: the answer is not to our WebSocket request`,
  );
}
