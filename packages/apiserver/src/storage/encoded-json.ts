/** The JSON of stored objects: what was encoded once is shared by the journal, every answer and every watcher. */
import type { JsonObject } from "@keelson/core";
import { setKey } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";

/** Encoded without kind and apiVersion, so that one encoding serves lists, events and every version. */
const bodies = new WeakMap<object, Buffer>();
const prefixes = new Map<string, Buffer>();

/** The bytes of an object without kind and apiVersion. */
export function encodedBody(object: JsonObject): Buffer {
  const known = bodies.get(object);
  if (known) return known;
  const rest: JsonObject = {};
  for (const key in object)
    if (key !== "apiVersion" && key !== "kind") setKey(rest, key, object[key] as JsonObject);
  const text = JSON.stringify(rest);
  const bytes = Buffer.from(text);
  // Only stored objects are frozen, and only they are shown more than once.
  if (Object.isFrozen(object)) bodies.set(object, bytes);
  latest = text.length <= longestLine ? { object, text } : undefined;
  return bytes;
}

/** What was encoded last, as it was before it became bytes. */
let latest: { readonly object: JsonObject; readonly text: string } | undefined;
const longestLine = 16_384;

/** The text of the object, when it is what was encoded last and is not long. */
export function latestText(object: JsonObject): string | undefined {
  encodedBody(object);
  return latest?.object === object ? latest.text : undefined;
}

/** A stored object as it is, kind and apiVersion included, in pieces. */
export function storedJson(object: ApiObject): readonly Uint8Array[] {
  const { apiVersion, kind } = object as { apiVersion?: string; kind?: string };
  const rest = encodedBody(object);
  if (kind === undefined || apiVersion === undefined) return [rest];
  const key = `s${apiVersion}/${kind}`;
  let prefix = prefixes.get(key);
  if (!prefix) {
    prefix = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`);
    prefixes.set(key, prefix);
  }
  return [prefix, rest.subarray(1)];
}
