/** The client's contract: typed verbs on kinds, over one HTTP port. */
import type {
  AnyKind,
  Clock,
  HttpHeaders,
  HttpPort,
  InputOf,
  JsonObject,
  JsonValue,
  KubeObject,
  ObjectOf,
  ObjectRef,
  Random,
  Status,
  Stored,
} from "@keelson/core";
import type { ReceivedObject } from "../objects/received.ts";

/** What every request may carry. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Gives up after this long and throws `Timeout`. Default: 30 s. Never applies to a watch. */
  readonly timeoutMs?: number;
}

/** Field manager, dry run and field validation of a write. */
export interface WriteOptions extends RequestOptions {
  /** Overrides the client's own field manager. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
}

/** How a server-side apply is sent. */
export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other managers. Default: false; a conflict is an error that names them. */
  readonly force?: boolean;
}

/** How an object is deleted: preconditions, grace period, propagation. */
export interface DeleteOptions extends RequestOptions {
  /** The object must still be this one; otherwise `Conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
}

/** Objects by label and field. */
export interface SelectOptions extends RequestOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

/** Which objects are listed, and in pages of which size. */
export interface ListOptions extends SelectOptions {
  readonly limit?: number;
  readonly continue?: string;
  /** Unset reads the most recent state. "0" would read any state, and is refused: it can travel back in time. */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact";
}

/** Objects of a kind with the resource version of the list. */
export interface List<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** One of the four patch forms; apply is a verb of its own. */
export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: "merge"; readonly body: JsonObject }
  | { readonly type: "strategic"; readonly body: JsonObject };

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: JsonValue }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

export interface WatchOptions extends SelectOptions {
  /** Strictly after this version. Unset begins with the current state as `added` events. */
  readonly resourceVersion?: string;
  readonly bookmarks?: boolean;
  /** Streams the current state first and ends it with a bookmark marked `initialEventsEnd` (WatchList). */
  readonly initialEvents?: boolean;
  /** Asks for metadata only. */
  readonly metadataOnly?: boolean;
}

/** One event of a watch. */
export type WatchEvent<T> =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: "error"; readonly status: Status };

/**
 * An endless watch for caches: it begins with the whole state, resumes by itself from the last version it
 * saw, and begins again when the server no longer knows that version.
 */
export interface ReflectOptions extends SelectOptions {
  /** Asks for metadata only: objects come without spec and status. */
  readonly metadataOnly?: boolean;
  /**
   * How the whole state is read: `stream` (WatchList), `list` (page by page), or `auto`, which streams
   * where the server can. Default: `auto`.
   */
  readonly initial?: "auto" | "stream" | "list";
  /** Objects per page when listing. Default: 500. Smaller pages suit large objects. */
  readonly pageSize?: number;
  /**
   * Keeps `metadata.managedFields`, up to half of an object. With `received` they come, and `ReceivedObject.appliedFields`
   * tells of them, but objects are read without them. Default: false.
   */
  readonly keepManagedFields?: boolean | "received";
}

/**
 * What a cache needs to follow a kind. The order is
 * `restart · (item | deleted)* · synced · (added | modified | deleted | bookmark)*`, and again from
 * `restart` whenever the server's history was lost; `interrupted` and `resumed` may stand anywhere.
 *
 * - Between `restart` and `synced` a new state is being built beside the old one: `item` puts an object
 *   into it (again, when it changed meanwhile) and `deleted` takes it out. The old state stays valid.
 * - `synced` is the moment to swap: what the old state held and the new one does not was deleted unseen.
 * - A `restart` without `synced` before it makes the half-built state void.
 * - After `synced`, events come in the server's order, none twice from one connection and none missing.
 */
export type ReflectEvent<T> =
  | { readonly type: "restart"; readonly reason: RestartReason }
  | { readonly type: "item"; readonly object: T; readonly received?: ReceivedObject }
  | { readonly type: "synced"; readonly resourceVersion: string }
  | {
      readonly type: "added" | "modified" | "deleted";
      /** Parsed at the first look; `received` tells which object it is without that. */
      readonly object: T;
      readonly received?: ReceivedObject;
    }
  /** Nothing changed for us up to this version. */
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** Cut off from the server: the state may be stale from here on. A retry follows by itself, for ever. */
  | {
      readonly type: "interrupted";
      readonly error: Error;
      /** 1 for the first failure in a row. */
      readonly attempt: number;
      readonly retryInMs: number;
    }
  /** The server answers again. Comes once after one or more `interrupted`. */
  | { readonly type: "resumed" };

/** The events of `reflect`, to be iterated over or taken. Each iteration is a watch of its own. */
export interface Reflection<T> extends AsyncIterable<ReflectEvent<T>> {
  /**
   * Calls `take` for each event, without a pause between those that came together; it must not throw. What an event has
   * not been asked for by the end of the call is lost: the memory it came in is used again.
   */
  forEach(take: (event: ReflectEvent<T>) => void): Promise<void>;
}

/**
 * - `start`: the first read.
 * - `expired`: the server's history no longer reaches back to our version (410).
 * - `rewound`: the server's versions went back, as after a restore of its storage.
 * - `failed`: the read of the whole state broke off and begins again.
 */
export type RestartReason = "start" | "expired" | "rewound" | "failed";

/** An object of which only the metadata was asked for. */
export type MetadataOnly = Stored<KubeObject>;

/** Subresources that have typed verbs. */
export type Subresource = "status" | "scale" | (string & {});

/** The verbs of one kind. Reads throw on every error: an empty answer always means "there is none". */
export interface KindClient<K extends AnyKind> {
  /** Throws `NotFound` when there is none. */
  get(ref: ObjectRef, options?: RequestOptions): Promise<ObjectOf<K>>;
  /** Undefined when, and only when, the server says that there is none. */
  find(ref: ObjectRef, options?: RequestOptions): Promise<ObjectOf<K> | undefined>;
  list(options?: ListOptions): Promise<List<ObjectOf<K>>>;
  /** All objects, page by page from one snapshot, without holding them all. */
  each(options?: SelectOptions & { readonly pageSize?: number }): AsyncIterable<ObjectOf<K>>;
  create(object: InputOf<K>, options?: WriteOptions): Promise<ObjectOf<K>>;
  /** Replaces the object; a `metadata.resourceVersion` in it must still be current. */
  update(object: InputOf<K>, options?: WriteOptions): Promise<ObjectOf<K>>;
  patch(ref: ObjectRef, patch: Patch, options?: WriteOptions): Promise<ObjectOf<K>>;
  /** Server-side apply: creates the object or brings our fields to these values. */
  apply(object: InputOf<K>, options?: ApplyOptions): Promise<ObjectOf<K>>;
  /**
   * The object as it still is while finalizers or its grace period hold it; undefined when nothing is left:
   * it was gone already, or the server removed it at once.
   */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<ObjectOf<K> | undefined>;
  deleteAll(options: SelectOptions & Omit<DeleteOptions, "uid" | "resourceVersion">): Promise<void>;
  /** One connection's events, in order. It ends when the server ends it and throws when it breaks. */
  watch(options: WatchOptions & { readonly metadataOnly: true }): AsyncIterable<WatchEvent<MetadataOnly>>;
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<ObjectOf<K>>>;
  /**
   * Follows the kind for ever: see `ReflectEvent`. Nothing is read ahead of the consumer beyond what is in
   * flight, so a slow consumer slows the server down and costs no memory. It ends only when the consumer
   * stops or `signal` aborts, and throws only for errors of the request that no retry can fix.
   */
  reflect(options: ReflectOptions & { readonly metadataOnly: true }): Reflection<MetadataOnly>;
  reflect(options?: ReflectOptions): Reflection<ObjectOf<K>>;
  /** The same verbs on a subresource; `status` returns the whole object. */
  subresource(name: Subresource): SubresourceClient<K>;
}

/** Verbs of one subresource of a kind. */
export interface SubresourceClient<K extends AnyKind> {
  get(ref: ObjectRef, options?: RequestOptions): Promise<ObjectOf<K>>;
  create(ref: ObjectRef, body: JsonObject, options?: WriteOptions): Promise<JsonObject>;
  update(object: InputOf<K>, options?: WriteOptions): Promise<ObjectOf<K>>;
  patch(ref: ObjectRef, patch: Patch, options?: WriteOptions): Promise<ObjectOf<K>>;
  apply(object: InputOf<K>, options?: ApplyOptions): Promise<ObjectOf<K>>;
}

/** Who a request is made as, when not as who we are. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A connection to one API server. It holds no state that two users could disturb. */
export interface Client {
  kind<K extends AnyKind>(kind: K): KindClient<K>;
  /**
   * Finds a kind by what the server's discovery says: for kinds known only at run time. By its name (`Deployment`) or
   * by its plural resource name (`deployments`).
   */
  discover(apiVersion: string, kind: string, options?: RequestOptions): Promise<AnyKind>;
  /** Any path, for what has no verb of its own: `/version`, `/readyz`. An answer that is no JSON comes as a string. */
  raw(request: RawRequest): Promise<JsonValue>;
  readonly http: HttpPort;
  /** The server as its address has it, `10.96.0.1:443`; none when it is in this process. */
  readonly host?: string;
  /** The namespace that stands for "here": from the kubeconfig context or the service account. */
  readonly namespace: string;
  readonly fieldManager: string;
  /** The clock that timeouts and backoff run by. */
  readonly clock: Clock;
  readonly random: Random;
  /** What every request carries besides its own: who we say we are, and who we act as. */
  readonly headers: HttpHeaders;
  /** A client that differs in these settings and shares the connection. */
  with(options: { fieldManager?: string; impersonate?: Impersonation }): Client;
  close(): Promise<void>;
}

/** A request that no typed verb covers. */
export interface RawRequest extends RequestOptions {
  readonly method?: string;
  readonly path: string;
  readonly body?: JsonValue;
  readonly contentType?: string;
}
