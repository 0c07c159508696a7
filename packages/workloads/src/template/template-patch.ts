/** What a controller revision holds: a patch that brings a template back. */
import { canonicalJson, type JsonObject, type JsonValue, type ObjectOf, parseJson } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { ControllerRevision, PodTemplateSpec } from "@keelson/core/kinds";
import { fnv1, safeEncode } from "./template-hash.ts";

/** A ControllerRevision as the server returns it. */
export type RevisionObject = ObjectOf<typeof ControllerRevision>;

/** With its keys in order: the server compares bytes, and may have put them in order itself. */
export function templatePatch(template: PodTemplateSpec): JsonObject {
  const patch = { spec: { template: { ...(template as JsonObject), $patch: "replace" } } };
  return parseJson(canonicalJson(patch)) as JsonObject;
}

/** The template that a revision holds. */
export function patchedTemplate({ data }: Pick<RevisionObject, "data">): PodTemplateSpec {
  const { spec } = (data ?? {}) as unknown as { spec?: { template?: JsonObject } };
  const { $patch: _, ...template } = spec?.template ?? {};
  return template as PodTemplateSpec;
}

/** The name's end: a hash of the patch as bytes, and of how often that hash was taken already. */
export function revisionHash(patch: JsonObject, collisions: number): string {
  return safeEncode(String(fnv1(Buffer.from(bytesOf(patch) + String(collisions)))));
}

/** Keys in order, and the characters escaped that matter inside HTML: the bytes that every implementation hashes. */
function bytesOf(value: JsonValue): string {
  return canonicalJson(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Whether two revisions hold the same template. */
export function isSamePatch(a: RevisionObject["data"], b: RevisionObject["data"]): boolean {
  return canonicalJson((a ?? {}) as JsonValue) === canonicalJson((b ?? {}) as JsonValue);
}

/** Oldest first. */
export function byRevision(a: RevisionObject, b: RevisionObject): number {
  return (
    a.revision - b.revision ||
    compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareBytes(a.metadata.name, b.metadata.name)
  );
}

/** The number of the next revision. */
export function nextRevision(revisions: readonly RevisionObject[]): number {
  return (revisions.at(-1)?.revision ?? 0) + 1;
}

/** The name of a revision: its owner and the hash of its template. */
export function revisionName(owner: string, hash: string): string {
  return `${owner.slice(0, 223)}-${hash}`;
}
