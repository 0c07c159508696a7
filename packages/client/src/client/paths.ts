/** Where things live on the API server: paths, queries, and the words messages use for them. */
import { type AnyKind, keyOf, type ObjectRef, resourcePath } from "@keelson/core";
import { ClientError } from "../errors.ts";
import type { ListOptions, SelectOptions, WriteOptions } from "./client.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path with its query; what is undefined is left out. */
export function withQuery(path: string, query: Query): string {
  let out = path;
  let separator = path.includes("?") ? "&" : "?";
  for (const name in query) {
    const value = query[name];
    if (value === undefined) continue;
    out += `${separator}${name}=${encodeURIComponent(value)}`;
    separator = "&";
  }
  return out;
}

/** The path of one object, or of a subresource of it. */
export function objectPath(kind: AnyKind, ref: ObjectRef, doing: string, subresource?: string): string {
  if (!ref.name) throw new ClientError("InvalidRequest", `cannot ${doing}: no name was given`);
  const path = `${collectionPath(kind, ref.namespace, doing)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The path of a namespace's collection: what one object's verbs start from. */
export function collectionPath(kind: AnyKind, namespace: string | undefined, doing: string): string {
  if (kind.scope === "Namespaced" && !namespace) {
    throw new ClientError(
      "InvalidRequest",
      `cannot ${doing}: ${kind.kind} lives in a namespace and none was given; pass one, for example client.namespace`,
    );
  }
  return resourcePath(kind, namespace);
}

/** `Service default/db`, for messages. */
export function named(kind: AnyKind, ref: ObjectRef): string {
  return `${kind.kind} ${keyOf(ref) || "without a name"}`;
}

/** `Service in default`, for messages. */
export function selected(kind: AnyKind, options: SelectOptions): string {
  const where = options.namespace && kind.scope === "Namespaced" ? ` in ${options.namespace}` : "";
  const labels = options.labels ? ` with labels ${options.labels}` : "";
  const fields = options.fields ? ` with fields ${options.fields}` : "";
  return `${kind.kind}${where}${labels}${fields}`;
}

export function selectQuery(options: SelectOptions): Query {
  return { labelSelector: options.labels || undefined, fieldSelector: options.fields || undefined };
}

export function listQuery(options: ListOptions, doing: string): Query {
  if (options.resourceVersion === "0") {
    throw new ClientError(
      "InvalidRequest",
      `cannot ${doing}: resourceVersion "0" may return a state from before what you have seen; leave it out for the latest state`,
    );
  }
  return {
    ...selectQuery(options),
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch:
      options.resourceVersionMatch ?? (options.resourceVersion ? "NotOlderThan" : undefined),
  };
}

export function writeQuery(options: WriteOptions, fieldManager: string | undefined): Query {
  return {
    fieldManager: options.fieldManager ?? fieldManager,
    dryRun: options.dryRun ? "All" : undefined,
    fieldValidation: options.fieldValidation,
  };
}
