/** An object as it came from the server: named, and parsed only when someone looks inside. */
import { type KubeObject, objectKey } from "@keelson/core";
import { type DecodeOptions, decodeItem } from "./decode.ts";
import { type Outline, outline } from "./outline.ts";

const slash = 0x2f;
/** Longer than any namespace and name together. */
const keyBytes = Buffer.alloc(2 << 10);

/** Turns the bytes that `copyTo` wrote back into the object. */
export type Decoder = (bytes: Buffer) => KubeObject;

/**
 * It stands on a chunk from the network: keep a copy of its JSON (`copyTo`), never the received object itself. A cache
 * of copies is smaller than one of objects, costs a fraction to fill, and gives the garbage collector nothing to do.
 */
export class ReceivedObject {
  readonly #bytes: Buffer | undefined;
  readonly #start: number;
  readonly #end: number;
  readonly #outline: Outline | undefined;
  readonly #decoding: Decoding | undefined;
  #object: KubeObject | undefined;
  #key: string | undefined;

  private constructor(
    object: KubeObject | undefined,
    bytes: Buffer | undefined,
    start: number,
    end: number,
    found: Outline | undefined,
    decoding: Decoding | undefined,
  ) {
    this.#object = object;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#outline = found;
    this.#decoding = decoding;
    this.#key = undefined;
  }

  /** One that is parsed already. */
  static of(object: KubeObject): ReceivedObject {
    return new ReceivedObject(object, undefined, 0, 0, undefined, undefined);
  }

  /**
   * The object whose JSON stands between `start` and `end`. Undefined when it does not look as expected; it must then be
   * parsed at once.
   */
  static read(bytes: Buffer, start: number, end: number, decoding: Decoding): ReceivedObject | undefined {
    const found = outline(bytes, start, end);
    if (found === undefined) return undefined;
    // A server that does not know how to leave the rest out has sent it all; it must not be kept.
    if (decoding.options.metadataOnly && found.metadataEnd !== end - 1) return undefined;
    return new ReceivedObject(undefined, bytes, start, end, found, decoding);
  }

  /** `namespace/name`, or the name alone for an object in no namespace. */
  get key(): string {
    this.#key ??= this.#outline ? keyOf(this.#bytes as Buffer, this.#outline) : objectKey(this.object);
    return this.#key;
  }

  get resourceVersion(): string {
    const found = this.#outline;
    if (!found) return this.object.metadata?.resourceVersion ?? "";
    return (this.#bytes as Buffer).toString("latin1", found.versionStart, found.versionEnd);
  }

  get uid(): string {
    const found = this.#outline;
    if (!found) return this.object.metadata?.uid ?? "";
    return (this.#bytes as Buffer).toString("latin1", found.uidStart, found.uidEnd);
  }

  /** Parsed at the first look. */
  get object(): KubeObject {
    this.#object ??= (this.#decoding as Decoding).decoder(
      (this.#bytes as Buffer).subarray(this.#start, this.#end),
    );
    return this.#object;
  }

  /** What reads a copy. Undefined when the object came parsed: there is nothing to copy. */
  get decoder(): Decoder | undefined {
    return this.#decoding?.decoder;
  }

  /** Size of a copy: the JSON, without the managed fields where they are not wanted. */
  get byteLength(): number {
    const length = this.#end - this.#start;
    if (!this.#decoding?.options.dropManagedFields) return length;
    const { managedStart, managedEnd } = this.#outline as Outline;
    return length - (managedEnd - managedStart);
  }

  copyTo(target: Uint8Array, at: number): void {
    const bytes = this.#bytes as Buffer;
    const { managedStart, managedEnd } = this.#outline as Outline;
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
