/**
 * What a controller touches, declared once: watches, cache scope, permissions and the type of its
 * context all follow from `owns`, `reads` and `writes`.
 */
import type { AnyKind, Clock, JsonValue, ObjectOf, ObjectRef, Stored } from "@keelson/core";

/** The verbs of Kubernetes authorization. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** How a child is owned. */
export interface OwnOptions<K extends AnyKind> {
  /**
   * What a slot that a composition leaves out means. `delete` prunes the child; `keep` leaves it.
   * Default: `delete`, but `keep` for PersistentVolumeClaim: data is never deleted by omission.
   */
  readonly absent?: "delete" | "keep";
  /**
   * The child gets no owner reference, so no way of deleting the owner (foreground deletion above all) takes it
   * along: `finalize` decides its end. Labels bind it to its owner instead, so it may also live in another namespace.
   */
  readonly outlives?: boolean;
  /**
   * Whether an object of the child's name that no controller controls is taken over. Default: only with the annotation
   * `keelson.dev/adopt`.
   */
  readonly adopts?: (existing: ObjectOf<K>, owner: Stored) => boolean;
  /**
   * Deletes the child and makes it again when the server refuses a change because the field is immutable (most of a
   * Pod, a Job's template). The new child is first validated by dry run: a child that runs is never given up for one
   * that cannot. Without it such a change is a condition that says so.
   */
  readonly recreate?: boolean;
  /**
   * Name of a child whose desired state has none. Default: the owner's, followed by the key where there is one. Declare
   * it where names differ: under this name a child is looked for that no cache shows.
   */
  readonly name?: (owner: Stored, key: string) => string;
  /** Slots that must be ready before this one is created. */
  readonly after?: string | readonly string[];
  /** When the child counts as ready for those that come `after` it. Default: a rule per kind. */
  readonly ready?: (child: ObjectOf<K>) => boolean;
}

/** A slot for children of one kind. */
export interface Owned<K extends AnyKind = AnyKind, M extends boolean = boolean> {
  readonly role: "owned";
  readonly kind: K;
  readonly many: M;
  /** A slot of an earlier release: its children are deleted, none is made. */
  readonly retired: boolean;
  readonly options: OwnOptions<K>;
}

/** One child. A bare kind in `owns` means the same without options. */
export function own<K extends AnyKind>(kind: K, options: OwnOptions<K> = {}): Owned<K, false> {
  return { role: "owned", kind, many: false, retired: false, options };
}

/** Any number of children, each under a key that is stable over time (`member-0`, not a position). */
export function many<K extends AnyKind>(kind: K, options: OwnOptions<K> = {}): Owned<K, true> {
  return { role: "owned", kind, many: true, retired: false, options };
}

/** Keeps the permission to find and delete what an earlier release made in this slot. */
export function retired<K extends AnyKind>(kind: K): Owned<K, true> {
  return { role: "owned", kind, many: true, retired: true, options: { absent: "delete" } };
}

/** The children that a controller makes, by the name of their slot. */
export type Owns = Readonly<Record<string, AnyKind | Owned>>;

/** What a controller reads beside its own children; `P` is the primary object. */
export type Read<P = never, K extends AnyKind = AnyKind> =
  | RefRead<P, K>
  | SelectRead<P, K>
  | AllRead<K>
  | PollRead<P>;

/** One object that the primary names. */
export interface RefRead<P, K extends AnyKind = AnyKind> {
  readonly role: "ref";
  readonly kind: K;
  readonly ref: (primary: P) => ObjectRef | undefined;
}

/** The objects whose labels the primary selects, in its namespace or the one given. */
export interface SelectRead<P, K extends AnyKind = AnyKind> {
  readonly role: "select";
  readonly kind: K;
  readonly select: (primary: P) => Selection | undefined;
}

/** Which objects of a kind are read: by label, field or namespace. */
export interface Selection {
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Every object of a kind: a change to any of them reconciles every primary. */
export interface AllRead<K extends AnyKind = AnyKind> {
  readonly role: "all";
  readonly kind: K;
  readonly labels?: string;
}

/**
 * Reads the object that the primary names, and reconciles when it appears, changes or goes. Of all others of its kind
 * only the metadata is known here.
 */
export function ref<P, K extends AnyKind>(
  kind: K,
  find: (primary: P) => ObjectRef | undefined,
): RefRead<P, K> {
  return { role: "ref", kind, ref: find };
}

/** Reads the objects that the primary selects by label. */
export function select<P, K extends AnyKind>(
  kind: K,
  find: (primary: P) => Selection | undefined,
): SelectRead<P, K> {
  return { role: "select", kind, select: find };
}

/** Reads all objects of a kind, or those that carry the labels. */
export function all<K extends AnyKind>(kind: K, options: { readonly labels?: string } = {}): AllRead<K> {
  return { role: "all", kind, ...options };
}

/** Something outside the cluster, looked at for each object by itself. */
export interface PollRead<P, T extends JsonValue = JsonValue> {
  readonly role: "poll";
  readonly everyMs: number;
  readonly look: (primary: P, world: PollWorld) => Promise<T>;
  /** It has none: nothing of the cluster is read. */
  readonly kind?: never;
}

/** What a look outside is handed. */
export interface PollWorld {
  /** Aborted when the lease is lost or the operator stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Looks outside for each object, every `everyMs` and when its generation changes, and reconciles when what it sees has
 * changed: `reads: { quota: poll((bucket, { signal }) => quotaOf(bucket, signal), { everyMs: 60_000 }) }`. The value is
 * undefined before the first look; a look that throws leaves it as it was. Only the process that leads looks.
 */
export function poll<P, T extends JsonValue>(
  look: (primary: P, world: PollWorld) => Promise<T>,
  options: { readonly everyMs: number },
): PollRead<P, T> {
  return { role: "poll", look, everyMs: options.everyMs };
}

export type Reads<P> = Readonly<Record<string, Read<P>>>;

/** Permission for verbs on a kind, a subresource, or some objects by name. */
export interface Grant<
  K extends AnyKind = AnyKind,
  V extends Verb = Verb,
  S extends string | undefined = string | undefined,
> {
  readonly role: "grant";
  readonly kind: K;
  readonly verbs: readonly V[];
  readonly subresource: S;
  readonly names?: readonly string[];
}

/** Allows verbs on a kind that the controller does not own. */
export function allow<K extends AnyKind, const V extends Verb>(
  kind: K,
  verbs: readonly V[],
  options: { readonly names?: readonly string[] } = {},
): Grant<K, V, undefined> {
  return { role: "grant", kind, verbs, subresource: undefined, ...options };
}

/** Allows verbs on a subresource: `allowSubresource(Pod, "eviction", ["create"])`. */
export function allowSubresource<K extends AnyKind, const S extends string, const V extends Verb>(
  kind: K,
  subresource: S,
  verbs: readonly V[],
  options: { readonly names?: readonly string[] } = {},
): Grant<K, V, S> {
  return { role: "grant", kind, verbs, subresource, ...options };
}

export type Writes = readonly Grant[];
