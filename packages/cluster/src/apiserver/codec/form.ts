/** The forms in which objects leave the server; YAML is made of JSON at the very end. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../hooks.ts";
import type { MediaType } from "../http/negotiation.ts";
import type { ApiResource } from "../registry/api-resource.ts";
import type { EventType, StoreEvent } from "../storage/table.ts";
import { jsonForm } from "./json-form.ts";

export interface Form {
  readonly name: string;
  /** The media type of a watch in this form. */
  readonly streamType: string;
  object(resource: ApiResource, version: string, object: ApiObject): Buffer;
  list(resource: ApiResource, version: string, metadata: JsonObject, items: readonly ApiObject[]): Buffer;
  /** A value that names its own kind. */
  value(value: JsonObject): Buffer;
  /** An event of a watch around an encoded object. */
  frame(type: string, object: Buffer): Buffer;
}

export async function formOf(mediaType: MediaType): Promise<Form> {
  if (mediaType !== "application/vnd.kubernetes.protobuf") return jsonForm;
  const { protobufForm } = await import("./protobuf-form.ts");
  return protobufForm;
}

const frames = new WeakMap<StoreEvent, Map<string, Buffer>>();

/** A watch event of a stored object, encoded once for all watchers of the version. */
export function encodeEvent(
  form: Form,
  event: StoreEvent,
  type: EventType,
  resource: ApiResource,
  version: string,
  shown: ApiObject,
): Buffer {
  const key = `${form.name}/${type}/${version}/${resource.group}/${shown === event.object ? "" : "previous"}`;
  let known = frames.get(event);
  if (!known) {
    known = new Map();
    frames.set(event, known);
  }
  let frame = known.get(key);
  if (!frame) {
    frame = form.frame(type, form.object(resource, version, shown));
    known.set(key, frame);
  }
  return frame;
}
