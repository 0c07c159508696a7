/** How the server reaches kubelets, pods and services. Plug in another where these are not on its network. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { HttpHeaders } from "@keelson/core";
import { request as plainRequest } from "../messages/node-http.ts";

export interface Destination {
  /** Kubelets are shown the server's certificate; pods, whoever made them, are shown nothing. */
  readonly of: "kubelet" | "pod";
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
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

/** Over sockets. Kubelets' own certificates are not checked, as by default on the real server. */
export function socketTransport(identity: KubeletIdentity | undefined): ProxyTransport {
  const open = (to: Destination, { method, path, headers, signal }: ProxyRequest): ClientRequest => {
    const options = {
      host: to.host,
      port: to.port,
      method,
      path,
      headers: { ...headers } as Record<string, string | string[] | undefined>,
      ...(signal && { signal }),
    };
    if (to.scheme === "http") return plainRequest(options);
    return secureRequest({
      ...options,
      rejectUnauthorized: false,
      ...(identity && to.of === "kubelet" && { cert: identity.certificate, key: identity.key }),
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

function answerOf(response: IncomingMessage): ProxyResponse {
  return { status: response.statusCode ?? 502, headers: headersOf(response), body: response };
}

function headersOf(response: IncomingMessage): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
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
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || credentials.test(name) || name === "host" || name === "content-length")
      continue;
    if (hopByHop.has(name) && !(upgrade && (name === "connection" || name === "upgrade"))) continue;
    out[name] = typeof value === "string" ? value : [...value];
  }
  return out;
}
