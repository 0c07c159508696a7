/** Labels, annotations and names by which kro's users find what belongs to an instance. */
import { hash } from "node:crypto";
import { type AnyKind, type Stored, validateLabelValue } from "@keelson/core";
import type { GraphNode } from "../graph/graph.ts";

/** Held by definitions and instances while something of theirs is left. */
export const finalizer = "kro.run/finalizer";
/** Signs children: what kro has applied before is taken over field by field. */
export const fieldManager = "kro.run/applyset";
/** `suspended` leaves the resources of an instance as they are. */
export const reconcileAnnotation = "kro.run/reconcile";
/** On a definition: `"true"` lets its schema change in ways that instances may not survive. */
export const breakingAnnotation = "kro.run/allow-breaking-changes";
/** On a child: the wave in which it goes. */
export const waveAnnotation = "internal.kro.run/apply-order";
/** On a child: the instance that it belongs to, as a set of applied objects. */
export const partOfLabel = "applyset.kubernetes.io/part-of";
/** On a child: the id of its resource. */
const nodeLabel = "kro.run/node-id";
/** On instances and generated CRDs: the definition. */
export const definitionLabel = "kro.run/resource-graph-definition-name";
const definitionIdLabel = "kro.run/resource-graph-definition-id";

/** Names the set of everything that belongs to an instance, as KEP-3659 computes it. */
export function applySetId(kind: AnyKind, { metadata }: Stored): string {
  const parts = [metadata.name, metadata.namespace ?? "", kind.kind, kind.group].join(".");
  return `applyset-${hash("sha256", parts, "base64url")}-v1`;
}

/** Who keeps an object. On an instance it is written once all its resources were gone through. */
export const versionLabel = "kro.run/kro-version";
export const versionValue = "keelson";
const owned = { "kro.run/owned": "true", [versionLabel]: versionValue };

/** Of a controller that a definition starts: the name follows from the kind, so that a successor takes over. */
export function controllerName({ kind }: { readonly kind: AnyKind }): string {
  return labelValue(`${kind.resource}.${kind.group}`);
}

/** What instances and generated CRDs carry. */
export function definitionLabels(definition: {
  readonly name: string;
  readonly uid: string;
}): Record<string, string> {
  return { ...owned, [definitionLabel]: labelValue(definition.name), [definitionIdLabel]: definition.uid };
}

/** What every child carries. `item` is its place in a collection. */
export function childLabels(
  kind: AnyKind,
  instance: Stored,
  node: GraphNode,
  item: { readonly index: number; readonly size: number } | undefined,
): Record<string, string> {
  const { name, namespace, uid } = instance.metadata;
  return {
    ...owned,
    "app.kubernetes.io/managed-by": "kro",
    "kro.run/instance-id": uid,
    "kro.run/instance-name": labelValue(name),
    "kro.run/instance-group": kind.group,
    "kro.run/instance-version": kind.version,
    "kro.run/instance-kind": kind.kind,
    ...(kind.scope === "Namespaced" ? { "kro.run/instance-namespace": namespace ?? "" } : {}),
    [nodeLabel]: labelValue(node.id),
    [partOfLabel]: applySetId(kind, instance),
    ...(item
      ? { "kro.run/collection-index": String(item.index), "kro.run/collection-size": String(item.size) }
      : {}),
  };
}

/** The text itself where a label can hold it, otherwise its beginning and a digest. */
export function labelValue(text: string): string {
  if (validateLabelValue(text).length === 0) return text;
  const start = text
    .slice(0, 46)
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .replace(/[^A-Za-z0-9]+$/, "");
  return `${start}-${hash("sha256", text).slice(0, 16)}`;
}

/** The wave in which an object goes; 0 when it bears none. */
export function waveOf({ metadata }: Stored): number {
  const wave = Number(metadata.annotations?.[waveAnnotation]);
  return Number.isInteger(wave) && wave > 0 ? wave : 0;
}

export function isSuspended(instance: Stored): boolean {
  const value = instance.metadata.annotations?.[reconcileAnnotation]?.toLowerCase();
  return value === "suspended" || value === "disabled";
}
