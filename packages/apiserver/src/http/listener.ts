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
import {
  entityTooLarge,
  failure,
  type StatusError,
  statusOf,
  tooManyRequests,
} from "../contracts/status-error.ts";
import { isHijack, isStream, type ServerRequest } from "../messages/message.ts";
import { createServer, ServerResponse, STATUS_CODES } from "../messages/node-http.ts";
import { send, stream } from "./answer.ts";
import type { Dispatch } from "./in-process.ts";

export const maxBodyBytes = 3 * 1024 * 1024;
/** What the bodies that are being read may hold together. */
const maxPendingBodies = 256 * 1024 * 1024;
let pendingBodies = 0;

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
  readonly patience?: Patience;
}

/** How long the server waits for clients. */
export interface Patience {
  /** For a request to arrive, head and body. Default: 60 s. */
  readonly requestMs?: number;
  /** For a client to take any part of a long answer. Default: 60 s. */
  readonly answerMs?: number;
}

const patienceMs = 60_000;

function timeouts({ requestMs = patienceMs }: Patience = {}) {
  return {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: Math.min(requestMs, patienceMs / 2),
  };
}

export function listenSecurely(
  options: ListenerOptions & { host: string; port: number; tls: TlsOptions },
): Promise<Listening> {
  const server = secureServer(options.tls, options.patience);
  attach(server, options);
  return start(server, () => server.listen(options.port, options.host));
}

function secureServer(tls: TlsOptions, patience?: Patience): Server {
  return createSecureServer({
    ...timeouts(patience),
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
  const { user, tls, socketPath, patience } = options;
  const dispatch: Dispatch = user
    ? (request) => options.dispatch(request, request.headers.authorization ? undefined : user)
    : options.dispatch;
  const plain = createServer(timeouts(patience));
  const secure = tls && secureServer(tls, patience);
  if (secure) attach(secure, { ...options, dispatch: options.dispatch });
  const front = createFront(plain, secure);
  // They do not listen themselves, and would not look after slow clients.
  for (const server of [plain, secure]) server?.emit("listening");
  front.once("close", () => {
    for (const server of [plain, secure]) server?.close();
  });
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
  server.keepAliveTimeout = 90_000;
  // What fails on the way out is this client's loss and nobody else's.
  server.on("request", (request, response) => {
    serve(options, request, response).catch(() => response.destroy());
  });
  server.on("upgrade", (request, socket, head) => {
    upgrade(options, request, socket as Socket, head).catch(() => socket.destroy());
  });
  const refused = new WeakSet<Duplex>();
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Its client is slow, or waits for nothing: an answer would be taken for one to the next request.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
      socket.destroy();
      return;
    }
    // Each piece that follows what could not be read is an error again.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (socket.writable) refuse(socket);
    else socket.destroy();
  });
}

/** So long a client that was refused may go on sending. */
const refusedMs = 1_000;

/** What still comes is read and dropped: to close the connection before would take the answer from the client, too. */
function refuse(socket: Duplex): void {
  socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
  socket.removeAllListeners("data");
  socket.resume();
  const over = setTimeout(() => socket.destroy(), refusedMs);
  socket.once("close", () => clearTimeout(over));
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
  readonly canUpgrade: boolean;
  readonly #message: IncomingMessage;
  #gone: AbortController | undefined;
  #left = false;
  #over = false;
  #afterwards: (() => void) | undefined;

  constructor(message: IncomingMessage, canUpgrade = false) {
    this.#message = message;
    this.canUpgrade = canUpgrade;
    this.method = message.method ?? "GET";
    this.target = message.url ?? "/";
    this.headers = headersOf(message);
    const certificate = certificateOf(message.socket);
    if (certificate) this.clientCertificate = certificate;
  }

  body(): Promise<Uint8Array> {
    // What follows an upgrade is no body.
    return this.canUpgrade ? Promise.resolve(new Uint8Array()) : readBody(this.#message);
  }

  /** Made when somebody asks: most requests are answered before anyone does. */
  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      if (this.#left) this.#gone.abort();
    }
    return this.#gone.signal;
  }

  onAnswered(run: () => void): void {
    if (this.#over) run();
    else this.#afterwards = run;
  }

  /** The answer is out, or the client is gone. */
  close(answered: boolean): void {
    if (!answered) {
      this.#left = true;
      this.#gone?.abort();
    }
    this.#over = true;
    this.#afterwards?.();
    this.#afterwards = undefined;
  }
}

async function serve(
  { dispatch, patience }: ListenerOptions,
  request: IncomingMessage,
  response: NodeResponse,
): Promise<void> {
  const serverRequest = new SocketRequest(request);
  // Comes once anyway, and to wait for that with `once` costs.
  response.on("close", () => serverRequest.close(response.writableEnded));
  const answer = await dispatch(serverRequest);
  if (response.destroyed) return;
  // What nobody read of a body is read past when the answer is out. Of a long one it is not worth it, and to break off
  // before the client has written all of a short one may keep it from reading the answer.
  if (!request.complete && !(Number(request.headers["content-length"]) <= maxBodyBytes))
    response.setHeader("connection", "close");
  if (isHijack(answer.body)) response.writeHead(400).end();
  else if (isStream(answer.body)) stream({ ...answer, body: answer.body }, response, serverRequest.signal);
  else await send(answer, request, response, patience?.answerMs);
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
    let chunks: Buffer[] = [];
    let size = 0;
    const release = () => {
      pendingBodies -= size;
      size = 0;
      chunks = [];
    };
    const refuse = (error: StatusError) => {
      request.pause();
      request.removeAllListeners("data");
      release();
      reject(error);
    };
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      pendingBodies += chunk.length;
      if (size > maxBodyBytes) refuse(entityTooLarge(`limit is ${maxBodyBytes}`));
      else if (pendingBodies > maxPendingBodies) {
        refuse(tooManyRequests("too many requests, please try again later", 1));
        // Read past, so that the client reads the answer.
        request.resume();
      } else chunks.push(chunk);
    });
    request.on("end", () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      release();
      resolve(body);
    });
    // Comes without an error, which nobody listens for, when the client goes away.
    request.on("close", () => {
      if (!request.complete)
        refuse(failure({ code: 400, reason: "BadRequest", message: "the request's body broke off" }));
    });
  });
}

/** A request to leave HTTP behind: answered in HTTP all the same, like any other, when nothing comes of it. */
async function upgrade(
  { dispatch, patience }: ListenerOptions,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  const serverRequest = new SocketRequest(request, true);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("close", () => serverRequest.close(response.writableEnded));
  response.on("finish", () => {
    serverRequest.close(true);
    socket.end();
  });
  const answer = await dispatch(serverRequest);
  if (socket.destroyed) return;
  if (!isHijack(answer.body)) {
    if (isStream(answer.body)) response.writeHead(400).end();
    else await send(answer, request, response, patience?.answerMs);
    return;
  }
  try {
    await answer.body.hijack({
      accept: (status, headers) => {
        response.detachSocket(socket);
        socket.once("close", () => serverRequest.close(false));
        socket.write(headText(status, headers));
        return socket;
      },
      refuse: (status, bytes) => response.writeHead(status, { "content-type": "text/plain" }).end(bytes),
    });
  } catch (error) {
    const status = statusOf(error);
    response.writeHead(status.code, { "content-type": "application/json" }).end(JSON.stringify(status));
  }
}

function headText(status: number, headers: Readonly<Record<string, string | string[]>>): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((item) => `${name}: ${item}`),
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`;
}

/** Read once per connection: it does not change, and to decode it costs as much as a small request. */
const certificates = new WeakMap<Socket, ClientCertificate | "none">();

function certificateOf(socket: Socket): ClientCertificate | undefined {
  let known = certificates.get(socket);
  if (known === undefined) {
    known = readCertificate(socket) ?? "none";
    certificates.set(socket, known);
  }
  return known === "none" ? undefined : known;
}

function readCertificate(socket: Socket): ClientCertificate | undefined {
  const tls = socket as Partial<TLSSocket>;
  if (!tls.authorized || !tls.getPeerCertificate) return undefined;
  const certificate = tls.getPeerCertificate();
  if (!certificate?.subject) return undefined;
  const { CN, O } = certificate.subject as { CN?: string | string[]; O?: string | string[] };
  const commonName = Array.isArray(CN) ? CN[0] : CN;
  const organizations = O === undefined ? [] : Array.isArray(O) ? O : [O];
  return { commonName: commonName ?? "", organizations, raw: certificate.raw };
}
