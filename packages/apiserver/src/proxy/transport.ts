/** How the server reaches kubelets and pods. */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { request as secureRequest } from "node:https";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as secure } from "node:tls";
import type { HttpHeaders } from "@keelson/core";
import type { ClusterDialer } from "../contracts/dialer.ts";
import { request as plainRequest } from "../messages/node-http.ts";

export interface Destination {
  /** Kubelets are shown the server's certificate; pods are shown nothing. */
  readonly of: "kubelet" | "pod";
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** Whose certificate is expected and which is shown. Default: any, and none. */
  readonly tls?: ConnectionOptions;
}

export interface ProxyRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: HttpHeaders;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal;
}

export interface ProxyResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** An upgrade that the destination accepted, or its refusal. */
export type ProxyUpgrade =
  | {
      readonly accepted: true;
      readonly headers: Record<string, string | string[]>;
      readonly stream: Duplex;
      readonly head: Uint8Array;
    }
  | { readonly accepted: false; readonly response: ProxyResponse };

export interface ProxyTransport {
  request(to: Destination, request: ProxyRequest): Promise<ProxyResponse>;
  upgrade(to: Destination, request: ProxyRequest): Promise<ProxyUpgrade>;
}

/** The client certificate that kubelets know the server by, in PEM. */
export interface KubeletIdentity {
  /** The user that the certificate names. */
  readonly user: string;
  readonly certificate: string;
  readonly key: string;
}

/**
 * Kubelets over sockets of the machine, pods through the cluster's network. The certificates of neither are checked, as by
 * default on the real server.
 */
export function socketTransport(
  identity: KubeletIdentity | undefined,
  dialer: ClusterDialer,
): ProxyTransport {
  const open = (to: Destination, { method, path, headers, signal }: ProxyRequest): ClientRequest => {
    const options = {
      host: to.host,
      port: to.port,
      method,
      path,
      headers: { ...headers } as Record<string, string | string[] | undefined>,
      ...(signal && { signal }),
    };
    if (to.of === "pod") return plainRequest({ ...options, createConnection: dialled(dialer, to, signal) });
    return secureRequest({
      ...options,
      rejectUnauthorized: false,
      ...(identity && { cert: identity.certificate, key: identity.key }),
    });
  };
  return {
    request: (to, request) =>
      new Promise((resolve, reject) => {
        const outgoing = open(to, request);
        outgoing.once("error", reject);
        outgoing.once("response", (response) => resolve(answerOf(response)));
        outgoing.end(request.body);
      }),
    upgrade: (to, request) =>
      new Promise((resolve, reject) => {
        const outgoing = open(to, request);
        outgoing.once("error", reject);
        outgoing.once("upgrade", (response, stream, head) =>
          resolve({ accepted: true, headers: headersOf(response), stream, head }),
        );
        outgoing.once("response", (response) => resolve({ accepted: false, response: answerOf(response) }));
        outgoing.end();
      }),
  };
}

const dialTimeoutMs = 30_000;

/** Node takes a connection that comes later by a callback. */
function dialled(
  dialer: ClusterDialer,
  { scheme, host, port, tls = { rejectUnauthorized: false } }: Destination,
  signal: AbortSignal | undefined,
): NonNullable<RequestOptions["createConnection"]> {
  const limit = AbortSignal.timeout(dialTimeoutMs);
  return (_, done) => {
    dialer.dial(host, port, signal ? AbortSignal.any([signal, limit]) : limit).then(
      (socket) => done(null, scheme === "https" ? secure({ ...tls, socket }) : socket),
      (error: Error) => done(error, undefined as never),
    );
    return undefined;
  };
}

function answerOf(response: IncomingMessage): ProxyResponse {
  return { status: response.statusCode ?? 502, headers: headersOf(response), body: response };
}

function headersOf(response: IncomingMessage): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of Object.entries(response.headers)) if (value !== undefined) out[name] = value;
  return out;
}

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const credentials = /^(authorization|impersonate-.*)$/;

/** What of a client's headers is passed on: neither the hop's own nor the client's credentials. */
export function forwardedHeaders(headers: HttpHeaders, upgrade: boolean): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || credentials.test(name) || name === "host" || name === "content-length")
      continue;
    if (hopByHop.has(name) && !(upgrade && (name === "connection" || name === "upgrade"))) continue;
    out[name] = typeof value === "string" ? value : [...value];
  }
  return out;
}
