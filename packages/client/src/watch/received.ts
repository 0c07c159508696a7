/** An object as it came from the server: named, and parsed only when someone looks inside. */
import { type KubeObject, objectKey } from "@keelson/core";
import { type DecodeOptions, decodeItem } from "./decode.ts";
import { type Outline, outline } from "./outline.ts";

const slash = 0x2f;
/** Longer than any namespace and name together. */
const keyBytes = Buffer.alloc(2 << 10);

/** Turns the bytes that `copyTo` wrote back into the object. */
export type Decoder = (bytes: Buffer) => KubeObject;

interface Text {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly outline: Outline;
  /** The managed fields are left out of copies. */
  readonly cut: boolean;
  readonly decoder: Decoder;
}

/**
 * It stands on a chunk from the network: keep a copy of its JSON (`copyTo`), never the received object itself. A cache
 * of copies is smaller than one of objects, costs a fraction to fill, and gives the garbage collector nothing to do.
 */
export class ReceivedObject {
  readonly #text: Text | undefined;
  #object: KubeObject | undefined;
  #key: string | undefined;

  private constructor(object: KubeObject | undefined, text: Text | undefined) {
    this.#object = object;
    this.#text = text;
  }

  /** One that is parsed already. */
  static of(object: KubeObject): ReceivedObject {
    return new ReceivedObject(object, undefined);
  }

  /**
   * The object whose JSON stands between `start` and `end`. Undefined when it does not look as expected; it must then be
   * parsed at once.
   */
  static read(bytes: Buffer, start: number, end: number, decoding: Decoding): ReceivedObject | undefined {
    const found = outline(bytes, start, end);
    if (found === undefined) return undefined;
    const { metadataOnly, dropManagedFields } = decoding.options;
    // A server that does not know how to leave the rest out has sent it all; it must not be kept.
    if (metadataOnly && found.metadataEnd !== end - 1) return undefined;
    const cut = dropManagedFields === true && found.managedEnd > 0;
    return new ReceivedObject(undefined, {
      bytes,
      start,
      end,
      outline: found,
      cut,
      decoder: decoding.decoder,
    });
  }

  /** `namespace/name`, or the name alone for an object in no namespace. */
  get key(): string {
    this.#key ??= this.#text ? keyOf(this.#text.bytes, this.#text.outline) : objectKey(this.object);
    return this.#key;
  }

  get resourceVersion(): string {
    if (!this.#text) return this.object.metadata?.resourceVersion ?? "";
    const { bytes, outline } = this.#text;
    return bytes.toString("latin1", outline.versionStart, outline.versionEnd);
  }

  get uid(): string {
    if (!this.#text) return this.object.metadata?.uid ?? "";
    const { bytes, outline } = this.#text;
    return bytes.toString("latin1", outline.uidStart, outline.uidEnd);
  }

  /** Parsed at the first look. */
  get object(): KubeObject {
    if (this.#object) return this.#object;
    const { decoder, bytes, start, end } = this.#text as Text;
    this.#object = decoder(bytes.subarray(start, end));
    return this.#object;
  }

  /** What reads a copy. Undefined when the object came parsed: there is nothing to copy. */
  get decoder(): Decoder | undefined {
    return this.#text?.decoder;
  }

  /** Size of a copy: the JSON, without the managed fields where they are not wanted. */
  get byteLength(): number {
    if (!this.#text) return 0;
    const { start, end, cut, outline } = this.#text;
    return cut ? end - start - (outline.managedEnd - outline.managedStart) : end - start;
  }

  copyTo(target: Uint8Array, at: number): void {
    const { bytes, start, end, cut, outline } = this.#text as Text;
    if (!cut) {
      bytes.copy(target, at, start, end);
      return;
    }
    bytes.copy(target, at, start, outline.managedStart);
    bytes.copy(target, at + outline.managedStart - start, outline.managedEnd, end);
  }
}

/** How objects of one kind are read; shared by all that one reflect receives. */
export class Decoding {
  readonly options: DecodeOptions;
  readonly decoder: Decoder;

  constructor(options: DecodeOptions) {
    this.options = options;
    this.decoder = (bytes) => decodeItem(bytes, options);
  }
}

/** The resource version in the JSON of a copy. */
export function versionIn(bytes: Buffer): string | undefined {
  const found = outline(bytes, 0, bytes.length);
  return found && bytes.toString("latin1", found.versionStart, found.versionEnd);
}

/** The UID in the JSON of a copy. */
export function uidIn(bytes: Buffer): string | undefined {
  const found = outline(bytes, 0, bytes.length);
  return found && bytes.toString("latin1", found.uidStart, found.uidEnd);
}

/** Written by hand: one string from two places costs half of two strings and their sum. */
function keyOf(bytes: Buffer, found: Outline): string {
  const { namespaceStart, namespaceEnd, nameStart, nameEnd } = found;
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
