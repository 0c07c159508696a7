/** An object as it came from the server: named, and parsed only when someone looks inside. */
import { type KubeObject, objectKey } from "@keelson/core";
import { type DecodeOptions, decodeAround, decodeItem, textOf } from "./decode.ts";
import { appliedFieldsIn } from "./managed-fields.ts";
import {
  emptyOutline,
  managedAt,
  metadataEndAt,
  nameAt,
  namespaceAt,
  type Outline,
  outline,
  uidAt,
  versionAt,
} from "./outline.ts";

const slash = 0x2f;
/** Longer than any namespace and name together. */
const keyBytes = Buffer.alloc(2 << 10);
const nothing = Buffer.alloc(0);

/** Turns the bytes that `copyTo` wrote back into the object. */
export type Decoder = (bytes: Buffer) => KubeObject;

/**
 * It stands on a chunk from the network: keep a copy of its JSON (`copyTo`), never the received object itself. A cache
 * of copies is smaller than one of objects, costs a fraction to fill, and gives the garbage collector nothing to do.
 */
export class ReceivedObject {
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;
  /** Undefined when the object came parsed. */
  readonly #outline: Outline | undefined;
  readonly #decoding: Decoding | undefined;
  #object: KubeObject | undefined;
  #key: string | undefined;

  private constructor(found: Outline | undefined, decoding: Decoding | undefined) {
    this.#outline = found;
    this.#decoding = decoding;
  }

  /** One that is parsed already. */
  static of(object: KubeObject): ReceivedObject {
    const received = new ReceivedObject(undefined, undefined);
    received.#object = object;
    return received;
  }

  /** One to be read into. */
  static blank(decoding: Decoding): ReceivedObject {
    return new ReceivedObject(emptyOutline(), decoding);
  }

  /**
   * The object whose JSON stands between `start` and `end`. Undefined when it does not look as expected; it must then be
   * parsed at once.
   */
  static read(bytes: Buffer, start: number, end: number, decoding: Decoding): ReceivedObject | undefined {
    const received = ReceivedObject.blank(decoding);
    return received.read(bytes, start, end) ? received : undefined;
  }

  /** Becomes another object, so that a long stream of them leaves no garbage. False when it does not look as expected. */
  read(bytes: Buffer, start: number, end: number): boolean {
    const found = this.#outline as Outline;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#object = undefined;
    this.#key = undefined;
    if (!outline(bytes, start, end, found)) return false;
    // A server that does not know how to leave the rest out has sent it all; it must not be kept.
    return !this.#decoding?.options.metadataOnly || found[metadataEndAt] === end - 1;
  }

  /** `namespace/name`, or the name alone for an object in no namespace. */
  get key(): string {
    this.#key ??= this.#outline ? keyOf(this.#bytes, this.#outline) : objectKey(this.object);
    return this.#key;
  }

  get resourceVersion(): string {
    const found = this.#outline;
    if (!found) return this.object.metadata?.resourceVersion ?? "";
    return this.#bytes.toString("latin1", found[versionAt], found[versionAt + 1]);
  }

  get uid(): string {
    const found = this.#outline;
    if (!found) return this.object.metadata?.uid ?? "";
    return this.#bytes.toString("latin1", found[uidAt], found[uidAt + 1]);
  }

  /** Parsed at the first look. */
  get object(): KubeObject {
    this.#object ??= this.#decode(this.#decoding as Decoding);
    return this.#object;
  }

  #decode({ options, decoder }: Decoding): KubeObject {
    const found = this.#outline as Outline;
    const managedEnd = found[managedAt + 1] as number;
    if (!options.dropManagedFields || managedEnd === 0)
      return decoder(this.#bytes.subarray(this.#start, this.#end));
    const before = this.#bytes.subarray(this.#start, found[managedAt]);
    return decodeAround(before, this.#bytes.subarray(managedEnd, this.#end), options);
  }

  /** The field set that a manager owns by server-side apply of the object itself, as JSON, where it came with the object. */
  appliedFields(manager: string): string | undefined {
    const found = this.#outline;
    if (!found) {
      const entry = this.object.metadata?.managedFields?.find(
        (each) => each.manager === manager && each.operation === "Apply" && !each.subresource,
      );
      return entry?.fieldsV1 && JSON.stringify(entry.fieldsV1);
    }
    const managed = this.#bytes.subarray(found[managedAt], found[managedAt + 1]);
    return managed.length === 0 ? undefined : appliedFieldsIn(textOf(managed), manager);
  }

  /** What reads a copy. Undefined when the object came parsed: there is nothing to copy. */
  get decoder(): Decoder | undefined {
    return this.#decoding?.decoder;
  }

  /** Size of a copy: the JSON, without the managed fields where they are not wanted. */
  get byteLength(): number {
    const length = this.#end - this.#start;
    const found = this.#outline as Outline;
    if (!this.#decoding?.options.dropManagedFields) return length;
    return length - (found[managedAt + 1] as number) + (found[managedAt] as number);
  }

  copyTo(target: Uint8Array, at: number): void {
    const bytes = this.#bytes;
    const found = this.#outline as Outline;
    const managedStart = found[managedAt] as number;
    const managedEnd = found[managedAt + 1] as number;
    if (managedEnd === 0 || !this.#decoding?.options.dropManagedFields) {
      bytes.copy(target, at, this.#start, this.#end);
      return;
    }
    bytes.copy(target, at, this.#start, managedStart);
    bytes.copy(target, at + managedStart - this.#start, managedEnd, this.#end);
  }
}

/** How objects of one kind are read; shared by all that one reflect receives. */
export class Decoding {
  readonly options: DecodeOptions;
  /** For what has to be parsed at once. */
  readonly atOnce: DecodeOptions;
  readonly decoder: Decoder;

  constructor(options: DecodeOptions, atOnce: DecodeOptions = options) {
    this.options = options;
    this.atOnce = atOnce;
    this.decoder = (bytes) => decodeItem(bytes, options);
  }
}

const scratch = emptyOutline();

/** The resource version in the JSON of a copy. */
export function versionIn(bytes: Buffer): string | undefined {
  if (!outline(bytes, 0, bytes.length, scratch)) return undefined;
  return bytes.toString("latin1", scratch[versionAt], scratch[versionAt + 1]);
}

/** The UID in the JSON of a copy. */
export function uidIn(bytes: Buffer): string | undefined {
  if (!outline(bytes, 0, bytes.length, scratch)) return undefined;
  return bytes.toString("latin1", scratch[uidAt], scratch[uidAt + 1]);
}

/** Written by hand: one string from two places costs half of two strings and their sum. */
function keyOf(bytes: Buffer, found: Outline): string {
  const namespaceStart = found[namespaceAt] as number;
  const namespaceEnd = found[namespaceAt + 1] as number;
  const nameStart = found[nameAt] as number;
  const nameEnd = found[nameAt + 1] as number;
  const namespace = namespaceEnd - namespaceStart;
  if (namespace === 0) return bytes.toString("latin1", nameStart, nameEnd);
  const length = namespace + 1 + nameEnd - nameStart;
  if (length > keyBytes.length) {
    return `${bytes.toString("latin1", namespaceStart, namespaceEnd)}/${bytes.toString("latin1", nameStart, nameEnd)}`;
  }
  let to = 0;
  for (let at = namespaceStart; at < namespaceEnd; at++) keyBytes[to++] = bytes[at] as number;
  keyBytes[to++] = slash;
  for (let at = nameStart; at < nameEnd; at++) keyBytes[to++] = bytes[at] as number;
  return keyBytes.toString("latin1", 0, length);
}
