/** The client's contract: typed verbs on kinds, over one HTTP port. */
import type {
  AnyKind,
  HttpPort,
  InputOf,
  JsonObject,
  JsonValue,
  ObjectOf,
  ObjectRef,
  Status,
} from "@keelson/core";

/** What every request may carry. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Gives up after this long and throws `Timeout`; 30 s unless told. Never applies to a watch. */
  readonly timeoutMs?: number;
}

export interface WriteOptions extends RequestOptions {
  /** Overrides the client's own field manager. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other managers. Off unless told: a conflict is an error that names them. */
  readonly force?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  /** The object must still be this one; otherwise `Conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
}

export interface SelectOptions extends RequestOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

export interface ListOptions extends SelectOptions {
  readonly limit?: number;
  readonly continue?: string;
  /** Unset reads the most recent state. "0" would read any state, and is refused: it can travel back in time. */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact";
}

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

export type WatchEvent<T> =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: "error"; readonly status: Status };

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
  /** The object as it was, or as it still is while finalizers hold it; undefined when it was gone already. */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<ObjectOf<K> | undefined>;
  deleteAll(options: SelectOptions & Omit<DeleteOptions, "uid" | "resourceVersion">): Promise<void>;
  /** One connection's events, in order. It ends when the server ends it and throws when it breaks. */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<ObjectOf<K>>>;
  /** The same verbs on a subresource; `status` returns the whole object. */
  subresource(name: Subresource): SubresourceClient<K>;
}

export interface SubresourceClient<K extends AnyKind> {
  get(ref: ObjectRef, options?: RequestOptions): Promise<ObjectOf<K>>;
  create(ref: ObjectRef, body: JsonObject, options?: WriteOptions): Promise<JsonObject>;
  update(object: InputOf<K>, options?: WriteOptions): Promise<ObjectOf<K>>;
  patch(ref: ObjectRef, patch: Patch, options?: WriteOptions): Promise<ObjectOf<K>>;
  apply(object: InputOf<K>, options?: ApplyOptions): Promise<ObjectOf<K>>;
}

/** A connection to one API server. It holds no state that two users could disturb. */
export interface Client {
  kind<K extends AnyKind>(kind: K): KindClient<K>;
  /** Finds a kind by what the server's discovery says: for kinds known only at run time. */
  discover(apiVersion: string, kind: string, options?: RequestOptions): Promise<AnyKind>;
  /** Any path, for what has no verb of its own: `/version`, `/readyz`. */
  raw(request: RawRequest): Promise<JsonValue>;
  readonly http: HttpPort;
  /** The namespace that stands for "here": from the kubeconfig context or the service account. */
  readonly namespace: string;
  readonly fieldManager: string;
  /** A client that differs in these settings and shares the connection. */
  with(options: {
    fieldManager?: string;
    impersonate?: { user: string; groups?: readonly string[] };
  }): Client;
  close(): Promise<void>;
}

export interface RawRequest extends RequestOptions {
  readonly method?: string;
  readonly path: string;
  readonly body?: JsonValue;
  readonly contentType?: string;
}
