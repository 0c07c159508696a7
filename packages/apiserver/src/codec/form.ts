/** The forms in which objects leave the server; YAML is made of JSON at the very end. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../hooks.ts";
import type { Pieces } from "../http/message.ts";
import type { MediaType } from "../http/negotiation.ts";
import type { ApiResource } from "../registry/api-resource.ts";
import type { EventType, StoreEvent } from "../storage/table.ts";
import { jsonForm } from "./json-form.ts";

export interface Form {
  readonly name: string;
  /** The media type of a watch in this form. */
  readonly streamType: string;
  object(resource: ApiResource, version: string, object: ApiObject): Pieces;
  list(resource: ApiResource, version: string, metadata: JsonObject, items: readonly ApiObject[]): Pieces;
  /** A value that names its own kind. */
  value(value: JsonObject): Pieces;
  /** An event of a watch around an encoded object. */
  frame(type: string, object: Pieces): Buffer;
}

export function formOf(mediaType: MediaType): Form | Promise<Form> {
  if (mediaType !== "application/vnd.kubernetes.protobuf") return jsonForm;
  return import("./protobuf-form.ts").then(({ protobufForm }) => protobufForm);
}

/** Frames of the latest events, oldest first: whoever keeps up shares them, and the past keeps none. */
const frames = new Map<StoreEvent, Map<string, Buffer>>();
let frameBytes = 0;
const maxFrameBytes = 8 * 1024 * 1024;

/** What a frame costs beside its bytes, roughly. */
const frameOverheadBytes = 500;

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
    frameBytes += frame.length + frameOverheadBytes;
    forgetOldest(event);
  }
  return frame;
}

function forgetOldest(latest: StoreEvent): void {
  for (const [event, known] of frames) {
    if (frameBytes <= maxFrameBytes || event === latest) return;
    frames.delete(event);
    for (const frame of known.values()) frameBytes -= frame.length + frameOverheadBytes;
  }
}
