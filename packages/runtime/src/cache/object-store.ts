/**
 * The objects of a cache. What the watch delivers is kept as the JSON it came in, and parsed when someone reads it: most
 * objects of a large cache are read rarely, if ever. In a large cache, an object that nobody has read for a while is JSON
 * again.
 */
import type { ReceivedObject } from "@keelson/client";
import { type Decoder, uidIn, versionIn } from "@keelson/client/internal";
import { deepFreeze, type Stored } from "@keelson/core";
import { ByteStore, type Slab } from "./byte-store.ts";
import type { Entry } from "./entry.ts";
import { type Observation, Taken } from "./observation.ts";

/** Below so many bytes of JSON a cache keeps what was parsed for good. */
const smallBytes = 4 << 20;

export class ObjectStore<T extends Stored> {
  readonly #bytes = new ByteStore();
  #decode: Decoder | undefined;
  /** Entries that are parsed and could be JSON alone again. */
  #parsed: Entry<T>[] = [];
  /** Grows with each `fold`, about once a minute. */
  #period = 0;
  /** A whole state is coming in: what is parsed of it on arrival is not kept when it is large. */
  filling = true;

  entry(key: string, epoch: number): Entry<T> {
    return { key, object: undefined, slab: undefined, start: 0, length: 0, epoch, readIn: this.#period };
  }

  /** Keeps the JSON of an object that came as such, and says whether it did. */
  keep(entry: Entry<T>, received: ReceivedObject): boolean {
    const { decoder } = received;
    if (decoder === undefined) return false;
    this.#decode = decoder;
    this.#bytes.put(entry, received);
    if (entry.object) this.#parsed.push(entry);
    return true;
  }

  empty(entry: Entry<T>): void {
    this.#bytes.release(entry);
    entry.object = undefined;
  }

  /** Parsing and freezing wait until someone looks: a cold sync of many objects that nobody reads costs little. */
  serve(entry: Entry<T> | undefined): T | undefined {
    if (!entry) return undefined;
    entry.readIn = this.#period;
    if (!entry.object && entry.slab) {
      entry.object = this.peek(entry);
      this.#parsed.push(entry);
    }
    return deepFreeze(entry.object);
  }

  /** The object, not frozen and not kept. */
  peek(entry: Entry<T>): T | undefined {
    if (entry.object) return entry.object;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && (this.#decode?.(bytes) as T);
  }

  /** What is seen now, for someone who may ask after it has changed. */
  view(entry: Entry<T>): (() => T) | undefined {
    const { object } = entry;
    if (object) return () => deepFreeze(object);
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && (() => deepFreeze(this.#decode?.(bytes)) as T);
  }

  versionOf(entry: Entry<T>): string | undefined {
    if (entry.object) return entry.object.metadata.resourceVersion;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && versionIn(bytes);
  }

  uidOf(entry: Entry<T>): string | undefined {
    if (entry.object) return entry.object.metadata.uid;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && uidIn(bytes);
  }

  /** Keeps what was parsed already: the controllers that the event concerns will read it. Not so a large state that is new. */
  adopt(entry: Entry<T>, object: T): void {
    if (this.filling && this.#bytes.size >= smallBytes) return;
    entry.object = object;
    entry.readIn = this.#period;
    this.#parsed.push(entry);
  }

  /** What an event meant whose object is in the entry now. */
  taken(entry: Entry<T>, news: boolean, previous: (() => T) | undefined): Observation<T> {
    return new Taken(this.#open, entry, news, previous);
  }

  /** Lets go of objects that were not read since the fold before this one; their JSON stays. */
  fold(): void {
    if (this.#bytes.size < smallBytes) return;
    const still: Entry<T>[] = [];
    for (const entry of this.#parsed) {
      if (!entry.object || !entry.slab) continue;
      if (entry.readIn === this.#period) still.push(entry);
      else entry.object = undefined;
    }
    this.#parsed = still;
    this.#period++;
  }

  /** The object that an event brought into its entry, however late it is asked for. */
  readonly #open = ({ entry, slab, start, length }: Taken<T>): T => {
    const current = entry.slab === slab && entry.start === start;
    if (current && entry.object) return deepFreeze(entry.object);
    const parsed = this.#decode?.((slab as Slab).bytes.subarray(start, start + length)) as T;
    if (current) this.adopt(entry, parsed);
    return deepFreeze(parsed);
  };
}
