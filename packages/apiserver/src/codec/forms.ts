/** Chooses the form of an answer, and encodes each event of a watch once for all its watchers. */
import type { ApiObject } from "../contracts/object.ts";
import type { MediaType } from "../messages/negotiation.ts";
import type { ApiResource } from "../registry/api-resource.ts";
import type { EventType, StoreEvent } from "../storage/table.ts";
import type { Form } from "./form.ts";
import { jsonForm } from "./json-form.ts";

export function formOf(mediaType: MediaType): Form | Promise<Form> {
  if (mediaType !== "application/vnd.kubernetes.protobuf") return jsonForm;
  return import("./protobuf-form.ts").then(({ protobufForm }) => protobufForm);
}

/** Frames of the latest events, oldest first: watchers that keep up share them, and the past keeps none. */
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
