/** From the bytes of a watch line or a list item to an object. */
import { isAscii } from "node:buffer";
import { type AnyKind, apiVersionOf, type KubeObject, parseJson, type Status } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";
import { cutManagedFields } from "./managed-fields.ts";

export interface DecodeOptions {
  readonly kind: AnyKind;
  readonly metadataOnly?: boolean;
  readonly dropManagedFields?: boolean;
}

/** One line of a watch, typed and trimmed. */
export type DecodedEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: KubeObject }
  | {
      readonly type: "bookmark";
      readonly resourceVersion: string;
      readonly initialEventsEnd: boolean;
    }
  | { readonly type: "error"; readonly status: Status };

const initialEventsEnd = "k8s.io/initial-events-end";

const changes: Readonly<Record<string, "added" | "modified" | "deleted">> = lookupTable({
  ADDED: "added",
  MODIFIED: "modified",
  DELETED: "deleted",
});

/** Decodes one line. Throws `InvalidResponse` for anything that is no watch event. */
export function decodeEvent(line: Buffer, options: DecodeOptions): DecodedEvent {
  const event = parse(line, options, '"object":') as { type?: unknown; object?: unknown };
  const object = event.object;
  if (typeof event.type !== "string" || typeof object !== "object" || object === null) throw notAnEvent(line);
  const type = changes[event.type];
  if (type !== undefined) return { type, object: trim(object, options) };
  if (event.type === "BOOKMARK") return bookmark(object, line);
  if (event.type === "ERROR") return { type: "error", status: object as Status };
  throw notAnEvent(line);
}

/** Decodes one item of a list, which may lack the kind that its list already named. */
export function decodeItem(item: Buffer, options: DecodeOptions): KubeObject {
  return trim(parse(item, options, "") as KubeObject, options);
}

/** Decodes an object whose JSON stands before and behind its managed fields. */
export function decodeAround(before: Buffer, behind: Buffer, options: DecodeOptions): KubeObject {
  const text = textOf(before) + textOf(behind);
  return trim(parseText(text) as KubeObject, options);
}

function bookmark(object: KubeObject, line: Buffer): DecodedEvent {
  const resourceVersion = object.metadata?.resourceVersion;
  if (!resourceVersion) throw notAnEvent(line);
  const end = object.metadata?.annotations?.[initialEventsEnd] === "true";
  return { type: "bookmark", resourceVersion, initialEventsEnd: end };
}

function trim(object: KubeObject, options: DecodeOptions): KubeObject {
  if (options.metadataOnly) {
    const { kind } = options;
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: trimMetadata(object, options) };
  }
  if (options.dropManagedFields && object.metadata?.managedFields !== undefined) {
    object.metadata = trimMetadata(object, options);
  }
  if (object.kind === undefined) {
    object.apiVersion = apiVersionOf(options.kind);
    object.kind = options.kind.kind;
  }
  return object;
}

function trimMetadata(object: KubeObject, options: DecodeOptions): KubeObject["metadata"] {
  if (!options.dropManagedFields || object.metadata === undefined) return object.metadata;
  // Rebuilt rather than deleted from: `delete` turns the object into a slow dictionary of twice the size.
  const { managedFields: _dropped, ...rest } = object.metadata;
  return rest;
}

function parse(bytes: Buffer, options: DecodeOptions, opening: '"object":' | ""): unknown {
  const text = textOf(bytes);
  return parseText((options.dropManagedFields && cutManagedFields(text, opening)) || text);
}

/** One-byte text is cheaper to make and to parse, and right for ASCII only. */
export function textOf(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

function parseText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ClientError(
      "InvalidResponse",
      `the server sent broken JSON: ${JSON.stringify(text.slice(0, 80))}`,
      {
        cause,
      },
    );
  }
}

function notAnEvent(line: Buffer): ClientError {
  const begin = JSON.stringify(line.toString("utf8", 0, 80));
  return new ClientError("InvalidResponse", `the server sent a line that is no watch event: ${begin}`);
}
