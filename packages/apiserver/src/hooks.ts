/**
 * What plugs into the API server: authentication, authorization, admission, the rules of each kind, and
 * printing. The server itself knows only these contracts; a refusal is a thrown `StatusError`.
 */
import type { Clock, HttpHeaders, JsonObject, JsonValue, Random } from "@keelson/core";
import type { TypeRef } from "@keelson/core/merge";
import type { GroupResource } from "./errors.ts";
import type { FieldError } from "./field-error.ts";

/** An object of any kind inside the server. Stored ones are frozen; drafts under construction are not. */
export type ApiObject = JsonObject & { metadata: ApiMeta };

export type ApiMeta = JsonObject & {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
  finalizers?: string[];
};

/** Reads the store without authorization or admission; objects are frozen and in their storage version. */
export interface StoreReader {
  get(resource: GroupResource, namespace: string, name: string): ApiObject | undefined;
  /** In key order; all namespaces when `namespace` is empty or absent. */
  list(resource: GroupResource, namespace?: string): readonly ApiObject[];
  /**
   * Calls `listener` after each commit to the resource, in revision order, `previous` absent on create
   * and `object` absent on delete. For caches that are derived from stored objects (roles, policies).
   */
  subscribe(resource: GroupResource, listener: StoreListener): () => void;
  /** Revision of the last commit. */
  readonly revision: number;
}

export type StoreListener = (change: { object?: ApiObject; previous?: ApiObject }) => void;

/** Writes past admission with optimistic retries, for what the server itself keeps (quota status, leases). */
export interface StoreWriter extends StoreReader {
  /** Creates; throws AlreadyExists. Fills in uid, creationTimestamp and defaults. */
  create(resource: GroupResource, object: ApiObject): Promise<ApiObject>;
  /** Applies `change` to a thawed copy until it commits; returning `undefined` leaves the object alone. */
  update(
    resource: GroupResource,
    namespace: string,
    name: string,
    change: (draft: ApiObject) => ApiObject | undefined,
  ): Promise<ApiObject | undefined>;
}

/** What every plug-in is handed once, when the server starts. */
export interface HookContext {
  readonly store: StoreWriter;
  readonly clock: Clock;
  readonly random: Random;
  /** Resolves a resource that the server serves now, built-in or custom. */
  resources(group: string, resource: string): ServedResource | undefined;
  /** Finds a resource by kind. */
  kinds(group: string, kind: string): ServedResource | undefined;
  /** Converts between versions of one kind, as for a webhook that wants another version. */
  convert(object: ApiObject, apiVersion: string): Promise<ApiObject>;
  /** Reads and completes what a plug-in made, as a body of its `apiVersion` and `kind`. Throws 400. */
  complete(object: JsonObject): ApiObject;
  /** How objects of a kind merge when a configuration is applied; `undefined` when it is not served. */
  mergeType(group: string, version: string, kind: string): TypeRef | undefined;
  /** How webhooks are called. */
  readonly callWebhook: WebhookCaller;
  /** All authorizers as one. */
  readonly authorizer: Authorizer;
  /** Asks all authenticators, the server's own included; `undefined` when none knows the credentials. */
  authenticate(request: AuthenticationRequest): Promise<UserInfo | undefined>;
  /** Value of a command line flag as kube-apiserver names it, without dashes: `service-account-issuer`. */
  flag(name: string): string | undefined;
  /** The cluster's certificate authority in PEM, for what hands it out. */
  readonly caCertificate: string | undefined;
}

/** Where a webhook is: at a URL, or behind a service, whose cluster name the URL then has. */
export interface WebhookTarget {
  readonly url: string;
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number };
  /** Authorities in PEM; the system's own when absent. */
  readonly authorities?: string;
}

/** Posts a JSON body and returns the answer, whatever its status. Rejects when there is none. */
export type WebhookCaller = (
  target: WebhookTarget,
  body: string,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly body: string }>;

/** A resource as it is served: one entry of discovery. */
export interface ServedResource {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Served versions, preferred first. */
  readonly versions: readonly string[];
  readonly storageVersion: string;
  readonly custom: boolean;
}

// ---------------------------------------------------------------------------------- authentication

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuthenticationRequest {
  readonly headers: HttpHeaders;
  /** Verified by the TLS layer against the client CA; absent in process and over the socket. */
  readonly clientCertificate?: ClientCertificate;
}

export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly raw: Uint8Array;
}

export interface Authenticator {
  /**
   * The user, or `undefined` when the request carries no credentials this authenticator knows; the next is
   * asked then. Credentials that are known to be wrong throw `unauthorized()`.
   */
  authenticate(request: AuthenticationRequest): Promise<UserInfo | undefined> | UserInfo | undefined;
}

// ----------------------------------------------------------------------------------- authorization

/** What is asked for. For a request without a resource `resource` is empty and `path` says which. */
export interface Attributes {
  readonly user: UserInfo;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or lower-case HTTP. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  /** As the client wrote it; only lists and watches have one. */
  readonly fieldSelector?: string;
}

export interface Decision {
  readonly decision: "allow" | "deny" | "no-opinion";
  /** Appended to the 403's message when not empty. */
  readonly reason: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /** Rules for SelfSubjectRulesReview. */
  rulesFor?(user: UserInfo, namespace: string): SubjectRules;
}

export interface SubjectRules {
  readonly resourceRules: readonly JsonObject[];
  readonly nonResourceRules: readonly JsonObject[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

// --------------------------------------------------------------------------------------- admission

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  readonly operation: Operation;
  /** Of the version in the request's path, as of `object`. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions with kind and apiVersion; absent on CONNECT. */
  readonly options: JsonObject | undefined;
  /** The new object, absent on DELETE. A mutating plug-in changes it in place or assigns another. */
  object: ApiObject | undefined;
  /** The stored object, frozen; absent on CREATE. */
  readonly oldObject: ApiObject | undefined;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
  readonly signal?: AbortSignal;
}

export interface AdmissionPlugin {
  /** As in --enable-admission-plugins: `NamespaceLifecycle`. */
  readonly name: string;
  /** Mutating phase; runs before validation of the object. */
  admit?(request: AdmissionRequest): Promise<void> | void;
  /** Validating phase; the object is final and must not be changed. */
  validate?(request: AdmissionRequest): Promise<void> | void;
}

// ---------------------------------------------------------------------------------------- strategy

export interface StrategyContext {
  readonly user: UserInfo;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: StoreReader;
  /** The version in the request's path. */
  readonly version: string;
  readonly namespace: string;
  readonly dryRun: boolean;
}

/**
 * The rules of one resource. All methods are synchronous and pure but for drafts they are handed to change.
 * The server does what all kinds share: metadata, names, generation by spec, status kept on the main path
 * and everything else kept on `/status`, managed fields.
 */
export interface Strategy {
  /** Fills in defaults of the version being decoded. Runs on every write, after decoding and after a patch. */
  default?(draft: ApiObject, version: string): void;
  /** Before validation of a create: clears what the client may not choose, sets generation-like fields. */
  prepareForCreate?(draft: ApiObject, context: StrategyContext): void;
  prepareForUpdate?(draft: ApiObject, old: ApiObject, context: StrategyContext): void;
  validate?(object: ApiObject, context: StrategyContext): FieldError[];
  validateUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[];
  warningsOnCreate?(object: ApiObject, context: StrategyContext): string[];
  warningsOnUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): string[];
  /** After validation: brings equivalent forms to one. */
  canonicalize?(draft: ApiObject): void;
  /** Messages about a name; `prefix` when it is a generateName. Default: DNS subdomain. */
  validateName?(name: string, prefix: boolean): string[];
  /** A PUT may create (Lease, Event, …). Default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** A PUT without resourceVersion is taken. Default true for built-in kinds. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Whether metadata.generation counts changes; `spec` compares spec. Default: `spec` when the kind has both spec and status. */
  readonly generation?: "spec" | "none" | ((object: ApiObject, old: ApiObject) => boolean);
  /** The field that `/status` owns and the main path keeps. Default: `status` when the resource has the subresource. */
  readonly statusField?: string | null;
  /** Rules of subresources that write the object, by name: `status`, `ephemeralcontainers`, … */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy>>;
  /** Seconds of grace for a delete, and whether the object may be removed at once. Default: none. */
  gracePeriod?(object: ApiObject, requested: number | undefined): number;
  /** Changes the object when a graceful deletion begins or is shortened. */
  prepareForDelete?(draft: ApiObject): void;
  /** Default propagation when the client names none. Default Background. */
  readonly defaultPropagation?: "Background" | "Orphan" | "Foreground";
  /** Field selectors beyond metadata.name and metadata.namespace, each to its value. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Runs inside the commit of a create or update, past validation: allocate an address. Throws to refuse. */
  beforeCommit?(draft: ApiObject, old: ApiObject | undefined, context: StrategyContext): void;
  /** Runs after a delete committed: release an address. */
  afterDelete?(object: ApiObject, context: StrategyContext): void;
}

export interface SubresourceStrategy {
  /** Takes from `draft` what the subresource may change, on top of `old`. */
  prepareForUpdate?(draft: ApiObject, old: ApiObject, context: StrategyContext): void;
  validateUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[];
  warningsOnUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): string[];
}

// ----------------------------------------------------------------------------------------- printing

export interface TableColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

/** Prints one kind. Cells are as many as columns; `conditions` mark finished rows (`Completed`). */
export interface Printer {
  readonly columns: readonly TableColumn[];
  row(object: ApiObject, context: { readonly nowMs: number }): TableRow;
}

export interface TableRow {
  readonly cells: readonly JsonValue[];
  readonly conditions?: readonly JsonObject[];
}

// ----------------------------------------------------------------------------------------- virtual resources

/** A resource that is answered, not stored: reviews, token requests. */
export interface VirtualResource {
  /** Answers a POST with the object to return, 201. */
  create(object: ApiObject, request: VirtualRequest): Promise<ApiObject> | ApiObject;
}

export interface VirtualRequest {
  readonly user: UserInfo;
  readonly namespace: string;
  /** The parent's name for subresources such as serviceaccounts/token; empty otherwise. */
  readonly name: string;
  readonly dryRun: boolean;
  readonly headers: HttpHeaders;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
}

// ----------------------------------------------------------------------------------------- assembly

/**
 * Everything that plugs in, made once per server. Lists are asked in order; a later `strategies` or
 * `printers` entry is asked only when the earlier ones know nothing.
 */
export interface Hooks {
  readonly authenticators?: readonly Authenticator[];
  readonly authorizers?: readonly Authorizer[];
  /** May rewrite the user after authentication (impersonation). Runs with the real user's permissions. */
  readonly impersonate?: (
    request: AuthenticationRequest,
    user: UserInfo,
    authorizer: Authorizer,
    /** What the request asks for, by the real user. */
    attributes: () => Attributes,
  ) => Promise<UserInfo> | UserInfo;
  /** In the order in which they run. */
  readonly admission?: readonly AdmissionPlugin[];
  readonly strategies?: (group: string, resource: string) => Strategy | undefined;
  readonly printers?: (group: string, kind: string) => Printer | undefined;
  /** By `group/resource` or `group/resource/subresource`; the core group is empty: `/serviceaccounts/token`. */
  readonly virtual?: Readonly<Record<string, VirtualResource>>;
  /** Objects that must exist when the server is ready, in order; written only when absent. */
  readonly bootstrap?: () => readonly ApiObject[] | Promise<readonly ApiObject[]>;
  /** Paths outside the resource API: `/.well-known/openid-configuration`. */
  readonly paths?: Readonly<Record<string, () => { contentType: string; body: string }>>;
}

export type HookFactory = (context: HookContext) => Hooks;
