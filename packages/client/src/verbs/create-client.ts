/** `createClient()`: the verbs over any HTTP port. */
import type { AnyKind, Clock, HttpHeaders, HttpPort, JsonValue, Random } from "@keelson/core";
import { systemClock, systemRandom } from "@keelson/core";
import type { Client, Impersonation, KindClient, RawRequest, SubresourceClient } from "../client/client.ts";
import { receiveItem } from "../objects/receive.ts";
import { Decoding, type ReceivedObject } from "../objects/received.ts";
import { Requester, type ServerWarning } from "../request/requester.ts";
import { Discovery } from "./discovery.ts";
import { encode } from "./encode.ts";
import { kindClient, type VerbContext } from "./kind-client.ts";

/** How a client reaches its server. */
export interface ClientConfig {
  /** Where requests go. `connect()` makes one of a kubeconfig; the embedded API server is one by itself. */
  readonly http: HttpPort;
  /** See `Client.host`. */
  readonly host?: string;
  /** The namespace that stands for "here". Default: `default`. */
  readonly namespace?: string;
  /** Signs our writes. Default: `keelson`. */
  readonly fieldManager?: string;
  readonly impersonate?: Impersonation;
  /** For every request that names no timeout of its own. Default: 30 s. */
  readonly timeoutMs?: number;
  /** How often one request is sent again at most. Default: 5. */
  readonly retries?: number;
  readonly userAgent?: string;
  /** Told what the server warns of: deprecated versions, unknown fields. */
  readonly onWarning?: (warning: ServerWarning) => void;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Frees what stands behind `http`; called by `close()`. */
  readonly onClose?: () => Promise<void>;
}

/** Makes a client. Nothing is sent before the first verb. */
export function createClient(config: ClientConfig): Client {
  const { http, impersonate, timeoutMs, retries, onWarning } = config;
  const clock = config.clock ?? systemClock;
  const random = config.random ?? systemRandom;
  const namespace = config.namespace || "default";
  const fieldManager = config.fieldManager ?? "keelson";
  const headers: HttpHeaders = {
    "user-agent": config.userAgent ?? `keelson (${process.platform}; node ${process.versions.node})`,
    ...(impersonate ? impersonationHeaders(impersonate) : {}),
  };
  const requester = new Requester({ http, clock, random, headers, timeoutMs, retries, onWarning });
  const discovery = new Discovery(requester);
  const client: Client = {
    http,
    host: config.host,
    namespace,
    fieldManager,
    clock,
    random,
    headers,
    kind: <K extends AnyKind>(kind: K): KindClient<K> => kindClient({ requester, fieldManager }, kind),
    discover: (apiVersion, kind, options) => discovery.find(apiVersion, kind, options),
    raw: (request) => raw(requester, request),
    with: (options) => createClient({ ...config, ...options, onClose: undefined }),
    close: async () => await config.onClose?.(),
  };
  contexts.set(client, { requester, fieldManager });
  return client;
}

const contexts = new WeakMap<Client, VerbContext>();

/**
 * The verbs of a kind for a cache: objects in answers are read without their managed fields, which `appliedFields` tells
 * of. Only for get, create, update, patch, apply, and the same of the status.
 */
export function receivingKind<K extends AnyKind>(client: Client, kind: K): ReceivingClient<K> {
  const decoding = new Decoding({ kind, dropManagedFields: true }, { kind });
  const context = contexts.get(client);
  if (!context) throw new TypeError("only clients that createClient or connect made can receive");
  const receive = (answer: Buffer) => receiveItem(answer, decoding);
  return kindClient({ ...context, receive }, kind) as unknown as ReceivingClient<K>;
}

/** See `receivingKind`. */
export type ReceivingClient<K extends AnyKind> = Received<
  Pick<KindClient<K>, "get" | "find" | "create" | "update" | "patch" | "apply">
> & {
  subresource(name: "status"): Received<Pick<SubresourceClient<K>, "update" | "patch" | "apply">>;
};

type Received<V> = {
  [N in keyof V]: V[N] extends (...args: infer A) => Promise<infer R>
    ? (...args: A) => Promise<ReceivedObject | Extract<R, undefined>>
    : never;
};

async function raw(requester: Requester, request: RawRequest): Promise<JsonValue> {
  const method = request.method ?? "GET";
  const doing = `${method} ${request.path}`;
  return await requester.text({
    doing,
    method,
    path: request.path,
    body: request.body === undefined ? undefined : encode(request.body, doing),
    contentType: request.contentType,
    accept: "application/json, */*",
    signal: request.signal,
    timeoutMs: request.timeoutMs,
  });
}

/** Keys of `extra` may hold any character; the header's name carries them percent-encoded. */
export function impersonationHeaders(impersonate: Impersonation): HttpHeaders {
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": impersonate.user };
  if (impersonate.uid) headers["impersonate-uid"] = impersonate.uid;
  if (impersonate.groups?.length) headers["impersonate-group"] = impersonate.groups;
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = values;
  }
  return headers;
}
