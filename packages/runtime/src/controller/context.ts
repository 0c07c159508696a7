/** What a reconcile is handed: its children, its reads, a client that can do what was declared, and the world. */
import type {
  ApplyOptions,
  DeleteOptions,
  KindClient,
  RequestOptions,
  SubresourceClient,
} from "@keelson/client";
import type { AnyKind, Clock, InputOf, JsonValue, ObjectOf, ObjectRef, Random } from "@keelson/core";
import type { Logger } from "../log/logger.ts";
import type {
  AllRead,
  Grant,
  Owned,
  Owns,
  PollRead,
  Reads,
  RefRead,
  SelectRead,
  Verb,
  Writes,
} from "./declaration.ts";

/** The kind in a slot, whether written bare or wrapped. */
export type SlotKind<O> = O extends Owned<infer K, boolean> ? K : O extends AnyKind ? O : never;

/** A child as a controller writes it. Name and namespace default to the owner's; owner and labels are added. */
export type Desired<K extends AnyKind> = Omit<InputOf<K>, "apiVersion" | "kind">;

/** The one child of a slot. Reads come from the cache and include our own writes. */
export interface OneHandle<K extends AnyKind> {
  get(): ObjectOf<K> | undefined;
  /** Asks the server: for decisions that destroy. */
  live(options?: RequestOptions): Promise<ObjectOf<K> | undefined>;
  /** Brings the child to this state; sends nothing when it is there already. */
  apply(desired: Desired<K>, options?: ApplyOptions): Promise<ObjectOf<K>>;
  /**
   * Deletes the child we see, by UID; gone already is success. Under the name of the slot also one that an orphaned
   * owner of the same name left, and that this one had no time to adopt.
   */
  delete(options?: DeleteOptions): Promise<void>;
}

/** The children of a slot that holds many, by key. */
export interface ManyHandle<K extends AnyKind> {
  get(key: string): ObjectOf<K> | undefined;
  /** All of them by name; two of one key too, which is what a label that someone changed comes to. */
  list(): readonly ObjectOf<K>[];
  entries(): ReadonlyMap<string, ObjectOf<K>>;
  live(key: string, options?: RequestOptions): Promise<ObjectOf<K> | undefined>;
  apply(key: string, desired: Desired<K>, options?: ApplyOptions): Promise<ObjectOf<K>>;
  delete(key: string, options?: DeleteOptions): Promise<void>;
}

export type OwnHandles<O extends Owns> = {
  readonly [S in keyof O]: O[S] extends Owned<infer K, infer M>
    ? M extends true
      ? ManyHandle<K>
      : OneHandle<K>
    : O[S] extends AnyKind
      ? OneHandle<O[S]>
      : never;
};

/** Children as `compose` sees them. */
export type ObservedOwned<O extends Owns> = {
  readonly [S in keyof O]: O[S] extends Owned<infer K, infer M>
    ? M extends true
      ? ReadonlyMap<string, ObjectOf<K>>
      : ObjectOf<K> | undefined
    : O[S] extends AnyKind
      ? ObjectOf<O[S]> | undefined
      : never;
};

/** Reads as `compose` and `ctx.read` see them. */
export type ObservedReads<R> = {
  readonly [S in keyof R]: R[S] extends RefRead<infer _P, infer K>
    ? ObjectOf<K> | undefined
    : R[S] extends SelectRead<infer _P, infer K>
      ? readonly ObjectOf<K>[]
      : R[S] extends AllRead<infer K>
        ? readonly ObjectOf<K>[]
        : R[S] extends PollRead<infer _P, infer T>
          ? T | undefined
          : never;
};

/** A permission as a type: group, kind, subresource and verb, all literal. */
type Permission<G extends string, K extends string, S extends string | undefined, V extends Verb> = {
  group: G;
  kind: K;
  subresource: S;
  verb: V;
};

type PermissionOn<K extends AnyKind, S extends string | undefined, V extends Verb> = Permission<
  K["group"],
  K["kind"],
  S,
  V
>;

type OwnedVerbs = "get" | "list" | "watch" | "create" | "patch" | "delete";
type ReadVerbs = "get" | "list" | "watch";

/** Every permission that a declaration grants. */
export type Permissions<P extends AnyKind, O extends Owns, R extends Reads<never>, W extends Writes> =
  | PermissionOn<P, undefined, ReadVerbs>
  | { [S in keyof O]: PermissionOn<SlotKind<O[S]>, undefined, OwnedVerbs> }[keyof O]
  | { [S in keyof R]: PermissionOn<NonNullable<R[S]["kind"]>, undefined, ReadVerbs> }[keyof R]
  | GrantedBy<W[number]>;

/** Distributes over the grants, each with verbs of its own. */
type GrantedBy<G> = G extends Grant<infer K, infer V, infer S> ? PermissionOn<K, S, V> : never;

/** The verbs granted on exactly this kind: one that is known only at run time is not covered by a grant on another. */
type VerbOn<Granted, K extends AnyKind, S extends string | undefined> = Granted extends {
  group: infer G;
  kind: infer N;
  subresource: S;
  verb: infer V;
}
  ? [G, N, K["group"], K["kind"]] extends [K["group"], K["kind"], G, N]
    ? V
    : never
  : never;

interface Methods {
  get: "get" | "find";
  list: "list" | "each";
  watch: "watch";
  create: "create";
  update: "update";
  patch: "patch" | "apply";
  delete: "delete";
  deletecollection: "deleteAll";
}

type MethodOf<V> = V extends keyof Methods ? Methods[V] : never;

/** The compiler shows this sentence where an undeclared kind is written. */
type NotDeclared<What extends string> = `${What} is not declared: name it in owns, reads or writes`;

/** A client that offers the declared verbs on the declared kinds; anything else does not compile. */
export interface GrantedClient<Granted> {
  kind<K extends AnyKind>(
    kind: [VerbOn<Granted, K, undefined>] extends [never] ? NotDeclared<K["kind"]> : K,
  ): Pick<KindClient<K>, MethodOf<VerbOn<Granted, K, undefined>>>;
  subresource<K extends AnyKind, const S extends string>(
    kind: [VerbOn<Granted, K, S>] extends [never] ? NotDeclared<`${K["kind"]}/${S}`> : K,
    name: S,
  ): Pick<SubresourceClient<K>, MethodOf<VerbOn<Granted, K, S>> & keyof SubresourceClient<K>>;
}

/** Why this reconcile runs; several causes may have become one run. */
export interface Cause {
  readonly type:
    | "created"
    | "changed"
    | "deleted"
    | "child"
    | "read"
    | "poll"
    | "wake"
    | "timer"
    | "retry"
    | "resync"
    | "start";
  readonly kind?: string;
  readonly key?: string;
  readonly resourceVersion?: string;
}

/** What a durable step is handed: how often it was tried, and its idempotency key. */
export interface StepAttempt {
  /** Unique to this step of this object and the same on every attempt: hand it to what must not happen twice. */
  readonly idempotencyKey: string;
  /** An earlier attempt began and its end is unknown: look before acting again. */
  readonly resumed: boolean;
  readonly signal: AbortSignal;
}

/** A way to an application's port: directly inside the cluster, by port-forward from outside. */
export interface Connection extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
}

/** What `connect` reaches. */
export type ConnectTarget = { readonly pod: ObjectRef } | { readonly service: ObjectRef };

export interface CronResult {
  /** The newest time that was due since `since`, if any. */
  readonly due?: Date;
  /** How many due times lie before `due` and were missed. */
  readonly missed: number;
  readonly next: Date | undefined;
}

/** The author's part of a status: what the runtime keeps there is taken out. */
export type StatusOf<P extends AnyKind> =
  ObjectOf<P> extends { status?: infer S }
    ? Partial<Omit<NonNullable<S>, "conditions" | "observedGeneration" | "inventory" | "steps">>
    : never;

/** Labels and annotations that a controller puts on an object of another's. */
export interface Decoration {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What `controller()` or `rawController()` returned. */
export interface Startable {
  readonly name: string;
  readonly writes: Writes;
}

/**
 * Controllers that come and go while the operator runs: for those who learn only then what to reconcile. They run in the
 * process that leads, share its caches and end with it; the next leader starts them again.
 */
export interface RunningControllers {
  /** The one of this name that a reconcile started. */
  get(name: string): Startable | undefined;
  /**
   * Starts a controller, in place of the one of the same name: that one ends its reconciles first, and caches that both
   * need stay. Resolves when its caches are complete; then every object is looked at. Rejects when a kind is not served,
   * or a cache is not complete after half a minute.
   */
  start(controller: Startable): Promise<void>;
  /** Lets its reconciles end and drops the caches that no other controller needs. Nothing happens when none is there. */
  stop(name: string): Promise<void>;
}

/** What the server says of itself: for those who learn only while they run which kinds they deal with. */
export interface ServerFacts {
  /** The kind that the server serves under this name. Throws a `ClientError` with the code `KindUnknown`. */
  discover(apiVersion: string, kind: string): Promise<AnyKind>;
  /** A document that every client may read: `/openapi/v3`, `/version`. */
  read(path: string): Promise<JsonValue>;
}

/** What a reconcile is handed. */
export interface Context<
  P extends AnyKind = AnyKind,
  O extends Owns = Owns,
  R extends Reads<never> = Reads<never>,
  W extends Writes = Writes,
> {
  /** The children, slot by slot. */
  readonly own: OwnHandles<O>;
  /** The declared reads, from the cache: what the object names as it was when this began, the rest as of now. */
  readonly read: ObservedReads<R>;
  readonly client: GrantedClient<Permissions<P, O, R, W>>;
  /**
   * What the author's part of the status is when the reconcile ends, however it ends. Several calls add up. A field
   * that no call of this reconcile names is removed; without a call everything stays.
   */
  setStatus(status: StatusOf<P>): void;
  /** Sets a condition of the author's own, beside Ready, Reconciling and Stalled. */
  setCondition(condition: {
    type: string;
    status: "True" | "False" | "Unknown";
    reason: string;
    message: string;
  }): void;
  /**
   * Puts labels and annotations on the object itself, for a controller with `decorates: true` on a kind that another
   * owns. What no call of this reconcile names is taken away again; what others put there stays.
   */
  decorate(decoration: Decoration): void;
  /** Records a Kubernetes event on the object; equal ones are aggregated. */
  event(type: "Normal" | "Warning", reason: string, message: string): void;
  /**
   * Runs a step that must not be lost: the intent is stored before it runs and its result after, at least
   * once over crashes and restarts. A step that is stored as finished returns its result and does not run.
   * It is forgotten when a reconcile that no longer asks for it ends with `done()`: put what it is for into the
   * id (`upgrade/3.6.14/member-2`).
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most steps return nothing.
  step<T extends JsonValue | void>(id: string, run: (attempt: StepAttempt) => Promise<T>): Promise<T>;
  /** What a cron expression says about now; looks again by itself at `next`. */
  cron(expression: string, options: { since: Date; timeZone?: string }): CronResult;
  /** Looks again after this long, though nothing changed. The shortest wish of a reconcile wins. */
  recheck(afterMs: number): void;
  /** Opens a way to a pod or Service; fails after ten seconds without an answer. */
  connect(target: ConnectTarget, port: number): Promise<Connection>;
  /**
   * Throws when another process may lead by now. Call it right before each call that changes an application; writes to the
   * API server are checked by themselves.
   */
  assertLeading(): void;
  /** Controllers that this one starts and stops. The operator's role must hold what they need. */
  readonly controllers: RunningControllers;
  readonly server: ServerFacts;
  /**
   * In `finalize`: the object was deleted with `--cascade=orphan`, so its children are to stay. `false` when it was deleted
   * in the foreground, for sure; undefined when nothing speaks for `--cascade=orphan`, though nobody may have seen it.
   */
  readonly orphaned: boolean | undefined;
  readonly causes: readonly Cause[];
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the lease is lost, the deadline has passed or the operator stops. */
  readonly signal: AbortSignal;
}
