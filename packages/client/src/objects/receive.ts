/** From the bytes of a watch line or a list item to an object that is known by name and not parsed yet. */
import type { KubeObject } from "@keelson/core";
import { type DecodedEvent, decodeEvent, decodeItem } from "./decode.ts";
import { type Decoding, ReceivedObject } from "./received.ts";

/** A change, whose object is parsed when someone looks at it. */
export class ObjectEvent {
  type: "item" | "added" | "modified" | "deleted";
  readonly received: ReceivedObject;

  constructor(type: ObjectEvent["type"], received: ReceivedObject) {
    this.type = type;
    this.received = received;
  }

  get object(): KubeObject {
    return this.received.object;
  }
}

/** One line of a watch. */
export type ReceivedEvent = ObjectEvent | Exclude<DecodedEvent, { readonly object: unknown }>;

/** How API servers begin the line of a change. */
const added = { type: "added", bytes: Buffer.from('{"type":"ADDED","object":') } as const;
const modified = { type: "modified", bytes: Buffer.from('{"type":"MODIFIED","object":') } as const;
const deleted = { type: "deleted", bytes: Buffer.from('{"type":"DELETED","object":') } as const;
const typeAt = '{"type":"'.length;
const closeBrace = 0x7d;

/**
 * Takes the line between `start` and `end`. Throws `InvalidResponse` for what is no watch event. With `again`, an event
 * that is no longer used, that one is filled in and returned where it can be.
 */
export function receiveEvent(
  bytes: Buffer,
  start: number,
  end: number,
  decoding: Decoding,
  again?: ObjectEvent,
): ReceivedEvent {
  const opening = openingOf(bytes[start + typeAt]);
  if (opening && startsWith(bytes, start, opening.bytes) && bytes[end - 1] === closeBrace) {
    const received = again?.received ?? ReceivedObject.blank(decoding);
    if (received.read(bytes, start + opening.bytes.length, end - 1)) {
      if (!again) return new ObjectEvent(opening.type, received);
      again.type = opening.type;
      return again;
    }
  }
  const event = decodeEvent(bytes.subarray(start, end), decoding.atOnce);
  return "object" in event ? new ObjectEvent(event.type, ReceivedObject.of(event.object)) : event;
}

export function receiveItem(item: Buffer, decoding: Decoding): ReceivedObject {
  return (
    ReceivedObject.read(item, 0, item.length, decoding) ??
    ReceivedObject.of(decodeItem(item, decoding.atOnce))
  );
}

function openingOf(letter: number | undefined) {
  if (letter === 0x41) return added;
  if (letter === 0x4d) return modified;
  return letter === 0x44 ? deleted : undefined;
}

function startsWith(bytes: Uint8Array, start: number, opening: Uint8Array): boolean {
  for (let at = 0; at < opening.length; at++) if (bytes[start + at] !== opening[at]) return false;
  return true;
}
