/** The server on sockets: HTTPS on loopback, and plain HTTP on a Unix socket. */
import { chmodSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse as NodeResponse, Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import {
  type AddressInfo,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { HttpHeaders } from "@keelson/core";
import type { ClientCertificate, UserInfo } from "../contracts/authentication.ts";
import { entityTooLarge, failure, statusOf } from "../contracts/status-error.ts";
import { isHijack, isPieces, isStream, type ServerRequest } from "../messages/message.ts";
import { createServer, STATUS_CODES } from "../messages/node-http.ts";
import { send, stream } from "./answer.ts";
import type { Dispatch } from "./in-process.ts";

export const maxBodyBytes = 3 * 1024 * 1024;

export interface TlsOptions {
  readonly certificate: string;
  readonly key: string;
  /** Authorities whose client certificates are believed, in PEM. */
  readonly clientAuthorities?: readonly string[];
}

export interface Listening {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface ListenerOptions {
  readonly dispatch: Dispatch;
}

export function listenSecurely(
  options: ListenerOptions & { host: string; port: number; tls: TlsOptions },
): Promise<Listening> {
  const server = secureServer(options.tls);
  attach(server, options);
  return start(server, () => server.listen(options.port, options.host));
}

function secureServer(tls: TlsOptions): Server {
  return createSecureServer({
    cert: tls.certificate,
    key: tls.key,
    requestCert: true,
    // Who presents a certificate of no authority of ours is asked for other credentials, not cut off.
    rejectUnauthorized: false,
    ...(tls.clientAuthorities?.length && { ca: [...tls.clientAuthorities] }),
    ALPNProtocols: ["http/1.1"],
  });
}

export interface SocketOptions extends ListenerOptions {
  readonly socketPath: string;
  /** Who a request over the socket is that brings no credentials: the file's mode is then the lock. */
  readonly user?: UserInfo;
  /** With it, TLS is spoken with clients that begin it: relays pass on what pods send to HTTPS. */
  readonly tls?: TlsOptions;
}

export function listenOnSocket(options: SocketOptions): Promise<Listening> {
  const { user, tls, socketPath } = options;
  const dispatch: Dispatch = user
    ? (request) => options.dispatch(request, request.headers.authorization ? undefined : user)
    : options.dispatch;
  const plain = createServer();
  const secure = tls && secureServer(tls);
  if (secure) attach(secure, { ...options, dispatch: options.dispatch });
  const front = createFront(plain, secure);
  rmSync(socketPath, { force: true });
  attach(plain, { ...options, dispatch });
  return start(front, () => front.listen(socketPath, () => chmodSync(socketPath, 0o600)));
}

const clientHello = 0x16;

/** Hands each connection to the server whose protocol its first byte begins. */
function createFront(plain: Server, secure: Server | undefined): NetServer {
  return createNetServer((socket) => {
    if (!secure) {
      plain.emit("connection", socket);
      return;
    }
    socket.once("error", () => socket.destroy());
    socket.once("readable", () => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) return;
      socket.unshift(first);
      (first[0] === clientHello ? secure : plain).emit("connection", socket);
    });
  });
}

/** Serves HTTP on a server, no matter which process accepts its connections. */
function attach(server: Server, options: ListenerOptions): void {
  // Watches stay open and silent for long; slow headers and dead keep-alives are cut by the defaults.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 90_000;
  // What fails on the way out is this client's loss and nobody else's.
  server.on("request", (request, response) => {
    serve(options.dispatch, request, response).catch(() => response.destroy());
  });
  server.on("upgrade", (request, socket, head) => {
    upgrade(options.dispatch, request, socket, head).catch(() => socket.destroy());
  });
  server.on("clientError", (_, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    else socket.destroy();
  });
}

function start(server: NetServer, listen: () => void): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => track(sockets, socket));
  server.on("secureConnection", (socket: Socket) => track(sockets, socket));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      const address = server.address() as AddressInfo | string | null;
      resolve({
        port: typeof address === "object" && address ? address.port : 0,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
    listen();
  });
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.setNoDelay(true);
  socket.once("close", () => sockets.delete(socket));
  socket.on("error", () => socket.destroy());
}

class SocketRequest implements ServerRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HttpHeaders;
  readonly clientCertificate?: ClientCertificate;
  readonly #message: IncomingMessage;
  #gone: AbortController | undefined;
  #left = false;

  constructor(message: IncomingMessage) {
    this.#message = message;
    this.method = message.method ?? "GET";
    this.target = message.url ?? "/";
    this.headers = headersOf(message);
    const certificate = clientCertificate(message.socket);
    if (certificate) this.clientCertificate = certificate;
  }

  body(): Promise<Uint8Array> {
    return readBody(this.#message);
  }

  /** Made when somebody asks: most requests are answered before anyone does. */
  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      if (this.#left) this.#gone.abort();
    }
    return this.#gone.signal;
  }

  leave(): void {
    this.#left = true;
    this.#gone?.abort();
  }
}

async function serve(dispatch: Dispatch, request: IncomingMessage, response: NodeResponse): Promise<void> {
  const serverRequest = new SocketRequest(request);
  // Comes once anyway, and to wait for that with `once` costs.
  response.on("close", () => {
    if (!response.writableEnded) serverRequest.leave();
  });
  const answer = await dispatch(serverRequest);
  if (response.destroyed) return;
  // A body that nobody read must not be taken for the next request.
  if (!request.complete) response.setHeader("connection", "close");
  if (isHijack(answer.body)) response.writeHead(400).end();
  else if (isStream(answer.body)) stream({ ...answer, body: answer.body }, response, serverRequest.signal);
  else await send(answer, request, response);
}

/** Node joins repeated headers with a comma, which may also be part of the name of a group. */
function headersOf(request: IncomingMessage): HttpHeaders {
  const { headers } = request;
  if (headers["impersonate-user"] === undefined && headers["impersonate-group"] === undefined) return headers;
  const impersonating = Object.entries(request.headersDistinct).filter(([name]) =>
    name.startsWith("impersonate-"),
  );
  return { ...headers, ...Object.fromEntries(impersonating) };
}

function readBody(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) {
        request.pause();
        request.removeAllListeners("data");
        reject(entityTooLarge(`limit is ${maxBodyBytes}`));
        return;
      }
      chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    // Comes without an error, which nobody listens for, when the client goes away.
    request.on("close", () => {
      if (!request.complete)
        reject(failure({ code: 400, reason: "BadRequest", message: "the request's body broke off" }));
    });
  });
}

/** A request to leave HTTP behind: answered in HTTP all the same when it is refused. */
async function upgrade(
  dispatch: Dispatch,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  socket.on("error", () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  const certificate = clientCertificate(request.socket);
  const write = (status: number, headers: Readonly<Record<string, string | string[]>>) => {
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      (typeof value === "string" ? [value] : value).map((item) => `${name}: ${item}`),
    );
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`);
  };
  const refuse = (status: number, headers: Readonly<Record<string, string | string[]>>, body: Uint8Array) => {
    write(status, { ...headers, "content-length": String(body.length), connection: "close" });
    socket.end(body);
  };
  const answer = await dispatch({
    method: request.method ?? "GET",
    target: request.url ?? "/",
    headers: headersOf(request),
    body: async () => new Uint8Array(),
    signal: gone.signal,
    canUpgrade: true,
    ...(certificate && { clientCertificate: certificate }),
  });
  if (socket.destroyed) return;
  const { body } = answer;
  if (isHijack(body)) {
    try {
      await body.hijack({
        accept: (status, headers) => {
          write(status, headers);
          return socket;
        },
        refuse: (status, bytes) => refuse(status, { "content-type": "text/plain" }, bytes),
      });
    } catch (error) {
      const status = statusOf(error);
      refuse(status.code, { "content-type": "application/json" }, Buffer.from(JSON.stringify(status)));
    }
  } else if (isStream(body)) refuse(400, {}, new Uint8Array());
  else if (isPieces(body)) refuse(answer.status, answer.headers, Buffer.concat(body));
  else refuse(answer.status, answer.headers, typeof body === "string" ? Buffer.from(body) : body);
}

function clientCertificate(socket: Socket): ClientCertificate | undefined {
  const tls = socket as Partial<TLSSocket>;
  if (!tls.authorized || !tls.getPeerCertificate) return undefined;
  const certificate = tls.getPeerCertificate();
  if (!certificate?.subject) return undefined;
  const { CN, O } = certificate.subject as { CN?: string | string[]; O?: string | string[] };
  const commonName = Array.isArray(CN) ? CN[0] : CN;
  const organizations = O === undefined ? [] : Array.isArray(O) ? O : [O];
  return { commonName: commonName ?? "", organizations, raw: certificate.raw };
}
