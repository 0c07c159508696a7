/** Built-in objects, statuses and bare metadata as protobuf. */
import type { ApiObject } from "../contracts/object.ts";
import { encode, encodeItem, encodeList, encodeWatchFrame, enveloped } from "../protobuf/index.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";
import type { Form } from "./form.ts";

const known = new WeakMap<object, Map<string, Buffer>>();

/** Stored objects are encoded once, for every answer and every reader, however slow. */
function itemOf(resource: ApiResource, version: string, object: ApiObject): Buffer {
  const apiVersion = apiVersionText(resource, version);
  const stored = Object.isFrozen(object);
  const before = stored ? known.get(object)?.get(apiVersion) : undefined;
  if (before) return before;
  const item = encodeItem({ ...object, apiVersion, kind: resource.kind });
  if (stored) {
    const versions = known.get(object) ?? new Map<string, Buffer>();
    known.set(object, versions.set(apiVersion, item));
  }
  return item;
}

export const protobufForm: Form = {
  name: "protobuf",
  streamType: "application/vnd.kubernetes.protobuf;stream=watch",
  object: (resource, version, object) =>
    enveloped(apiVersionText(resource, version), resource.kind, itemOf(resource, version, object)),
  async list(resource, version, metadata, items, turns) {
    const encoded: Buffer[] = [];
    for (const item of items) {
      encoded.push(itemOf(resource, version, item));
      if (turns.due()) await turns.rest();
    }
    const list = { apiVersion: apiVersionText(resource, version), kind: resource.listKind, metadata };
    return encodeList(list, encoded);
  },
  value: (value) => [Buffer.from(encode(value))],
  frame: (type, object) => encodeWatchFrame(type, object),
};
