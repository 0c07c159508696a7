/** Objects as JSON. What was encoded once is shared by every answer and every watcher that shows it. */
import { type JsonObject, setKey } from "@keelson/core";
import type { ApiObject } from "../hooks.ts";
import type { Pieces } from "../http/message.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";
import type { Form } from "./form.ts";

/** Encoded without kind and apiVersion, so that one encoding serves lists, events and every version. */
const bodies = new WeakMap<object, Buffer>();
const prefixes = new Map<string, Buffer>();
const comma = Buffer.from(",");

function body(object: JsonObject): Buffer {
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

/**
 * The object with kind and apiVersion and a line's end, when it has just been encoded and is not long. Node sends text in
 * one piece with the head of the answer, while bytes would be put together first and then copied beside it.
 */
export function freshLine(resource: ApiResource, version: string, object: ApiObject): string | undefined {
  body(object);
  if (latest?.object !== object) return undefined;
  return `${typeText(resource, version)}${latest.text.slice(1)}\n`;
}

/** A stored object as it is, kind and apiVersion included, in pieces. */
export function storedJson(object: ApiObject): Pieces {
  const { apiVersion, kind } = object as { apiVersion?: string; kind?: string };
  const rest = body(object);
  if (kind === undefined || apiVersion === undefined) return [rest];
  const key = `s${apiVersion}/${kind}`;
  let prefix = prefixes.get(key);
  if (!prefix) {
    prefix = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`);
    prefixes.set(key, prefix);
  }
  return [prefix, rest.subarray(1)];
}

function typePrefix(resource: ApiResource, version: string): Buffer {
  const key = `${resource.custom ? "c" : "b"}${apiVersionText(resource, version)}/${resource.kind}`;
  let prefix = prefixes.get(key);
  if (!prefix) {
    prefix = Buffer.from(typeText(resource, version));
    prefixes.set(key, prefix);
  }
  return prefix;
}

function typeText(resource: ApiResource, version: string): string {
  const kind = `"kind":${JSON.stringify(resource.kind)}`;
  const group = `"apiVersion":${JSON.stringify(apiVersionText(resource, version))}`;
  return resource.custom ? `{${group},${kind},` : `{${kind},${group},`;
}

/** The object with kind and apiVersion, in pieces. */
function objectParts(resource: ApiResource, version: string, object: ApiObject): Buffer[] {
  return [typePrefix(resource, version), body(object).subarray(1)];
}

export const jsonForm: Form = {
  name: "json",
  streamType: "application/json",
  object: objectParts,
  list,
  value: (value) => [Buffer.from(JSON.stringify(value))],
  frame: (type, object) =>
    Buffer.concat([Buffer.from(`{"type":"${type}","object":`), ...object, Buffer.from("}\n")]),
};

/** Items of built-in lists come without kind and apiVersion; those of custom resources have them. */
function list(
  resource: ApiResource,
  version: string,
  metadata: JsonObject,
  items: readonly ApiObject[],
): Pieces {
  const apiVersion = apiVersionText(resource, version);
  // Lists of custom resources always say whether more follows.
  const shown = resource.custom ? { continue: "", ...metadata } : metadata;
  const head = resource.custom
    ? `{"apiVersion":${JSON.stringify(apiVersion)},"items":[`
    : `{"kind":${JSON.stringify(resource.listKind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(shown)},"items":[`;
  const tail = resource.custom
    ? `],"kind":${JSON.stringify(resource.listKind)},"metadata":${JSON.stringify(shown)}}\n`
    : "]}\n";
  const parts: Buffer[] = [Buffer.from(head)];
  for (const item of items) {
    if (parts.length > 1) parts.push(comma);
    if (resource.custom) parts.push(...objectParts(resource, version, item));
    else parts.push(body(item));
  }
  parts.push(Buffer.from(tail));
  return parts;
}
