/** Objects as JSON. What was encoded once is shared by every answer and every watcher that shows it. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Pieces } from "../messages/message.ts";
import type { Turns } from "../messages/turns.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";
import { encodedBody, latestText } from "../storage/encoded-json.ts";
import type { Form } from "./form.ts";

const prefixes = new Map<string, Buffer>();
const comma = Buffer.from(",");

/**
 * The object with kind and apiVersion and a line's end, when it has just been encoded and is not long. Node sends text in
 * one piece with the head of the answer, while bytes would be put together first and then copied beside it.
 */
export function freshLine(resource: ApiResource, version: string, object: ApiObject): string | undefined {
  const text = latestText(object);
  return text === undefined ? undefined : `${typeText(resource, version)}${text.slice(1)}\n`;
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
  return [typePrefix(resource, version), encodedBody(object).subarray(1)];
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
async function list(
  resource: ApiResource,
  version: string,
  metadata: JsonObject,
  items: readonly ApiObject[],
  turns: Turns,
): Promise<Pieces> {
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
    else parts.push(encodedBody(item));
    if (turns.due()) await turns.rest();
  }
  parts.push(Buffer.from(tail));
  return parts;
}
