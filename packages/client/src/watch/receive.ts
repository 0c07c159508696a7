/** From the bytes of a watch line or a list item to an object that is known by name and not parsed yet. */
import { type DecodedEvent, decodeEvent, decodeItem } from "./decode.ts";
import { type Decoding, ReceivedObject } from "./received.ts";

/** One line of a watch. `bytes` is its size on the wire. */
export type ReceivedEvent =
  | {
      readonly type: "added" | "modified" | "deleted";
      readonly received: ReceivedObject;
      readonly bytes: number;
    }
  | Exclude<DecodedEvent, { readonly object: unknown }>;

/** How API servers begin the line of a change. */
const added = { type: "added", bytes: Buffer.from('{"type":"ADDED","object":') } as const;
const modified = { type: "modified", bytes: Buffer.from('{"type":"MODIFIED","object":') } as const;
const deleted = { type: "deleted", bytes: Buffer.from('{"type":"DELETED","object":') } as const;
const typeAt = '{"type":"'.length;
const closeBrace = 0x7d;

/** Takes one line. Throws `InvalidResponse` for what is no watch event. */
export function receiveEvent(line: Buffer, decoding: Decoding): ReceivedEvent {
  const opening = openingOf(line[typeAt]);
  if (opening && startsWith(line, opening.bytes) && line[line.length - 1] === closeBrace) {
    const received = ReceivedObject.read(line, opening.bytes.length, line.length - 1, decoding);
    if (received) return { type: opening.type, received, bytes: line.length };
  }
  const event = decodeEvent(line, decoding.options);
  if (!("object" in event)) return event;
  return { type: event.type, received: ReceivedObject.of(event.object), bytes: event.bytes };
}

export function receiveItem(item: Buffer, decoding: Decoding): ReceivedObject {
  return (
    ReceivedObject.read(item, 0, item.length, decoding) ??
    ReceivedObject.of(decodeItem(item, decoding.options))
  );
}

function openingOf(letter: number | undefined) {
  if (letter === 0x41) return added;
  if (letter === 0x4d) return modified;
  return letter === 0x44 ? deleted : undefined;
}

function startsWith(line: Uint8Array, opening: Uint8Array): boolean {
  for (let at = 0; at < opening.length; at++) if (line[at] !== opening[at]) return false;
  return true;
}
