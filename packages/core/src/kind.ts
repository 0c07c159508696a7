/** Kinds as values: what the client, the cache and the permission types are keyed by. */
import type { KubeObject, Stored } from "./object.ts";

/** Whether objects of a kind live in a namespace. */
export type Scope = "Namespaced" | "Cluster";

declare const objectType: unique symbol;

/**
 * A Kubernetes kind at one version. `G` and `K` are literal types, so that two kinds of the same shape
 * stay apart in the permission types; `T` is the shape of an object as a user may write it, `S` as the
 * server returns it (defaults filled in).
 */
export interface Kind<
  T extends KubeObject = KubeObject,
  G extends string = string,
  K extends string = string,
  S extends KubeObject = T,
> {
  /** Empty for the core group. */
  readonly group: G;
  readonly version: string;
  readonly kind: K;
  /** The plural, lower-case name in the URL. */
  readonly resource: string;
  readonly scope: Scope;
  readonly [objectType]?: readonly [T, S];
}

/** A kind whose objects are not known to the compiler. */
// biome-ignore lint/suspicious/noExplicitAny: a bound that every kind satisfies, whatever its object.
export type AnyKind = Kind<any, string, string, any>;

/** The object a user writes for a kind. */
export type InputOf<K> = K extends Kind<infer T, string, string, infer _S> ? T : never;
/** The object the server returns for a kind. */
export type ObjectOf<K> = K extends Kind<infer _T, string, string, infer S> ? Stored<S> : never;

/** Group, version and kind of an object. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** `v1` for the core group, `group/version` otherwise. */
export function apiVersionOf(kind: { group: string; version: string }): string {
  return kind.group ? `${kind.group}/${kind.version}` : kind.version;
}

export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `Kind.group`, as kubectl and RBAC messages write it; stable across versions. */
export function groupKind(kind: { group: string; kind: string }): string {
  return kind.group ? `${kind.kind}.${kind.group}` : kind.kind;
}

/** Names a kind that is known only at run time. */
export function dynamicKind(options: {
  group: string;
  version: string;
  kind: string;
  resource: string;
  scope: Scope;
}): Kind {
  return Object.freeze({ ...options });
}

/** The collection's URL path, as `/apis/apps/v1/namespaces/default/deployments`. */
export function resourcePath(kind: AnyKind, namespace?: string): string {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  return namespace !== undefined && kind.scope === "Namespaced"
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${kind.resource}`
    : `${root}/${kind.resource}`;
}
