/** Built-in objects, statuses and bare metadata as protobuf. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Pieces } from "../messages/message.ts";
import { asBuffer, encode, encodeWatchFrame } from "../protobuf/index.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";
import type { Form } from "./form.ts";

const known = new WeakMap<object, Map<string, Buffer>>();

function encodeObject(resource: ApiResource, version: string, object: ApiObject): Buffer {
  const apiVersion = apiVersionText(resource, version);
  const stored = Object.isFrozen(object);
  const before = stored ? known.get(object)?.get(apiVersion) : undefined;
  if (before) return before;
  const bytes = asBuffer(encode({ ...object, apiVersion, kind: resource.kind }));
  if (stored) {
    const versions = known.get(object) ?? new Map<string, Buffer>();
    known.set(object, versions.set(apiVersion, bytes));
  }
  return bytes;
}

export const protobufForm: Form = {
  name: "protobuf",
  streamType: "application/vnd.kubernetes.protobuf;stream=watch",
  object: (resource, version, object) => [encodeObject(resource, version, object)],
  list: (resource, version, metadata, items) => [
    encode({
      apiVersion: apiVersionText(resource, version),
      kind: resource.listKind,
      metadata,
      items: items as readonly JsonObject[] as JsonObject[],
    }),
  ],
  value: (value) => [asBuffer(encode(value))],
  frame: (type, object) => asBuffer(encodeWatchFrame(type, whole(object))),
};

function whole(pieces: Pieces): Uint8Array {
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
}
