import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteStore, type Holder } from "./byte-store.ts";

const source = (bytes: Uint8Array) => ({
  byteLength: bytes.length,
  copyTo: (target: Uint8Array, at: number) => target.set(bytes, at),
});

const holder = (): Holder => ({ slab: undefined, start: 0, length: 0 });

describe("a byte store", () => {
  test("gives back what was put, however much comes and goes, and takes at most about twice of it", () => {
    const step = fc.record({ at: fc.nat(40), size: fc.nat(9_000), keep: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 200, maxLength: 600 }), (steps) => {
        const store = new ByteStore();
        const held = new Map<number, { holder: Holder; bytes: Buffer }>();
        steps.forEach(({ at, size, keep }, index) => {
          const old = held.get(at);
          if (old) store.release(old.holder);
          held.delete(at);
          if (!keep) return;
          const bytes = Buffer.alloc(size, index);
          const entry = { holder: old?.holder ?? holder(), bytes };
          store.put(entry.holder, source(bytes));
          held.set(at, entry);
        });
        const slabs = new Set([...held.values()].map(({ holder: { slab } }) => slab));
        const live = [...held.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
        for (const { holder, bytes } of held.values()) expect(store.bytesOf(holder)).toEqual(bytes);
        expect(store.size).toBe(live);
        const used = [...slabs].reduce((sum, slab) => sum + (slab?.used ?? 0), 0);
        // The slab that is being filled may hold anything.
        const filling = Math.max(...[...slabs].map((slab) => slab?.bytes.length ?? 0), 0);
        expect(used).toBeLessThanOrEqual(2 * live + filling);
      }),
      { numRuns: 50 },
    );
  });

  test("does not let one object that stays hold the room of thousands that went", () => {
    const store = new ByteStore();
    const stays = Array.from({ length: 20 }, holder);
    const churns = holder();
    for (const each of stays) {
      store.put(each, source(Buffer.alloc(1_000, 1)));
      for (let i = 0; i < 2_000; i++) {
        store.release(churns);
        store.put(churns, source(Buffer.alloc(1_000, 2)));
      }
    }
    const slabs = new Set(stays.map(({ slab }) => slab));
    expect(slabs.size).toBeLessThanOrEqual(2);
    for (const each of stays) expect(store.bytesOf(each)).toEqual(Buffer.alloc(1_000, 1));
  });

  test("leaves a view as it was when its holder moved on", () => {
    const store = new ByteStore();
    const one = holder();
    store.put(one, source(Buffer.from("before")));
    const view = store.bytesOf(one);
    store.release(one);
    store.put(one, source(Buffer.from("after!")));
    expect([view?.toString(), store.bytesOf(one)?.toString()]).toEqual(["before", "after!"]);
  });

  test("lets V8 count its slabs as soon as one can become garbage", () => {
    const store = new ByteStore();
    const [first, second, third] = [holder(), holder(), holder()];
    const large = source(Buffer.alloc(600_000));
    store.put(first, large);
    store.put(second, large);
    expect(first.slab?.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(second.slab?.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    store.release(first);
    store.put(third, large);
    expect(third.slab?.bytes.buffer).toBeInstanceOf(ArrayBuffer);
  });
});
