/**
 * Keeps many small byte sequences in a few large buffers outside the heap, where the garbage collector has nothing to
 * follow or move. What is kept together comes and goes one by one: a buffer of which less than half is still in use is
 * emptied into the newest, so the store never takes more than about twice what it holds.
 */

const firstSlab = 16 << 10;
const largestSlab = 1 << 20;

/** Something whose bytes are in a store. The store moves them, and tells where they are by these fields. */
export interface Holder {
  slab: Slab | undefined;
  start: number;
  length: number;
}

/** What is written into the store. */
export interface Source {
  readonly byteLength: number;
  copyTo(target: Uint8Array, at: number): void;
}

/** Bytes are written once and never overwritten: a view of them stays true for as long as someone has it. */
export interface Slab {
  readonly bytes: Buffer;
  used: number;
  live: number;
  /** All that ever were put here; those that left are skipped. */
  readonly holders: Holder[];
}

export class ByteStore {
  #current: Slab | undefined;
  #live = 0;
  #released = false;

  /** Bytes in use. */
  get size(): number {
    return this.#live;
  }

  /** Keeps a copy of the source under the holder, which may hold nothing yet. */
  put(holder: Holder, source: Source): void {
    const length = source.byteLength;
    const slab = this.#place(length);
    source.copyTo(slab.bytes, slab.used);
    this.#settle(holder, slab, length);
  }

  bytesOf(holder: Holder): Buffer | undefined {
    return holder.slab?.bytes.subarray(holder.start, holder.start + holder.length);
  }

  release(holder: Holder): void {
    const { slab, length } = holder;
    if (!slab) return;
    this.#released = true;
    holder.slab = undefined;
    slab.live -= length;
    this.#live -= length;
    if (slab !== this.#current && isSparse(slab)) this.#empty(slab);
  }

  #empty(slab: Slab): void {
    for (const holder of slab.holders) {
      // One that left and came back to the same slab is in the list twice; it moves at the first.
      if (holder.slab !== slab) continue;
      const { start, length } = holder;
      const target = this.#place(length);
      slab.bytes.copy(target.bytes, target.used, start, start + length);
      this.#live -= length;
      this.#settle(holder, target, length);
    }
    slab.holders.length = 0;
    slab.live = 0;
  }

  #settle(holder: Holder, slab: Slab, length: number): void {
    holder.slab = slab;
    holder.start = slab.used;
    holder.length = length;
    slab.used += length;
    slab.live += length;
    slab.holders.push(holder);
    this.#live += length;
  }

  /** A slab with room for so many bytes. */
  #place(length: number): Slab {
    // What is large has a slab of its own, and the rest goes on filling the last.
    if (length > largestSlab / 4) return this.#slabOf(length);
    for (;;) {
      const current = this.#current;
      if (current && current.bytes.length - current.used >= length) return current;
      this.#current = this.#slabOf(current ? Math.min(largestSlab, current.bytes.length * 2) : firstSlab);
      if (current && isSparse(current)) this.#empty(current);
    }
  }

  /**
   * V8 takes the size of every ArrayBuffer for pressure on its heap and answers by marking all of it, which during the
   * first read of a large state finds nothing to free. Shared memory it does not count,
   * and frees just as well, but without hurry. So that is used for as long as nothing was ever given back; from then on
   * slabs become garbage, and V8 has to know how much.
   */
  #slabOf(length: number): Slab {
    const bytes = this.#released
      ? Buffer.allocUnsafeSlow(length)
      : Buffer.from(new SharedArrayBuffer(length));
    return { bytes, used: 0, live: 0, holders: [] };
  }
}

function isSparse(slab: Slab): boolean {
  return slab.live > 0 && slab.live < slab.used / 2;
}
