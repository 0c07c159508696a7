/** Revisions of a parent: which of its fields they keep, under which name, and with which children. */
import { createHash } from "node:crypto";
import {
  type AnyKind,
  canonicalJson,
  deepCopy,
  type JsonObject,
  type JsonValue,
  type Stored,
} from "@keelson/core";
import type { ControllerRevisionObject } from "../api/resources.ts";

/** Names of children by `Kind.group`. */
export type Claims = Map<string, string[]>;

/** The fields of a parent whose change is rolled out. */
export function patchOf(parent: Stored, fieldPaths: readonly string[]): JsonObject {
  const patch: JsonObject = {};
  for (const path of fieldPaths) {
    const value = fieldAt(parent as unknown as JsonObject, path.split("."));
    if (value !== undefined) setField(patch, path.split("."), value);
  }
  return patch;
}

/** The parent as it was at a revision. */
export function parentAt(parent: Stored, patch: JsonObject, fieldPaths: readonly string[]): Stored {
  const copy = deepCopy(parent as unknown as JsonObject);
  for (const path of fieldPaths) {
    const value = fieldAt(patch, path.split("."));
    if (value !== undefined) setField(copy, path.split("."), value);
  }
  return copy as unknown as Stored;
}

function fieldAt(from: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = from;
  for (const part of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = value[part];
  }
  return value;
}

function setField(into: JsonObject, path: readonly string[], value: JsonValue): void {
  let at = into;
  for (const part of path.slice(0, -1)) {
    const next = at[part];
    const inner = typeof next === "object" && next !== null && !Array.isArray(next) ? next : {};
    at[part] = inner;
    at = inner;
  }
  at[path.at(-1) as string] = deepCopy(value);
}

const longestName = 253;

/** Equal for equal states of one parent, so that making it twice makes it once. */
export function revisionName(parentKind: AnyKind, parent: Stored, patch: JsonObject): string {
  const prefix = `${parentKind.resource}.${parentKind.group || "core"}`.slice(0, longestName - 41);
  const hash = createHash("sha1").update(parent.metadata.uid).update(canonicalJson(patch)).digest("hex");
  return `${prefix}-${hash}`;
}

export function claimsOf({ children = [] }: Pick<ControllerRevisionObject, "children">): Claims {
  return new Map(
    children.map(({ apiGroup, kind, names }) => [apiGroup === "" ? kind : `${kind}.${apiGroup}`, [...names]]),
  );
}

export function claimsToChildren(claims: Claims): { apiGroup: string; kind: string; names: string[] }[] {
  return [...claims]
    .filter(([, names]) => names.length > 0)
    .map(([groupKind, names]) => {
      const dot = groupKind.indexOf(".");
      const kind = dot < 0 ? groupKind : groupKind.slice(0, dot);
      return { apiGroup: dot < 0 ? "" : groupKind.slice(dot + 1), kind, names };
    });
}
