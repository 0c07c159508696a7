import { backgroundClock } from "@keelson/core/internal";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../contracts/object.ts";
import { RevisionConflict, Store } from "./store.ts";

const object = (name: string, value = 0): ApiObject => ({ metadata: { name }, value });

describe("the store", () => {
  it("refuses a commit on another state than it was based on", () => {
    const store = new Store({ clock: backgroundClock });
    const table = store.table("t");
    const first = store.create(table, "a", object("a", 1));
    const second = store.update(table, "a", object("a", 2), first);
    expect(() => store.update(table, "a", object("a", 3), first)).toThrow(RevisionConflict);
    expect(() => store.delete(table, "a", first)).toThrow(RevisionConflict);
    expect(() => store.create(table, "a", object("a"))).toThrow(RevisionConflict);
    expect(table.get("a")).toBe(second);
  });

  it("freezes what it stores", () => {
    const store = new Store({ clock: backgroundClock });
    const stored = store.create(store.table("t"), "a", object("a"));
    expect(() => {
      (stored.metadata as { name: string }).name = "b";
    }).toThrow(TypeError);
  });

  it("shows a deleted object as it last was, under the revision of its deletion", () => {
    const store = new Store({ clock: backgroundClock });
    const table = store.table("t");
    const events: unknown[] = [];
    table.subscribe(({ type, object: { metadata } }) => events.push([type, metadata.resourceVersion]));
    const stored = store.create(table, "a", object("a"));
    store.delete(table, "a", stored);
    expect(events).toEqual([
      ["ADDED", "2"],
      ["DELETED", "3"],
    ]);
  });

  it("lists one namespace without its neighbours", () => {
    const store = new Store({ clock: backgroundClock });
    const table = store.table("t");
    for (const key of ["a-b/x", "a/x", "a/y", "aa/x", "b/x"]) store.create(table, key, object(key));
    expect(table.rangeEntries("a/").map(([key]) => key)).toEqual(["a/x", "a/y"]);
  });

  it("forgets history in order: what is compacted is reported, what is not is complete", () => {
    const store = new Store({ clock: backgroundClock });
    const table = store.table("t");
    for (let i = 0; i < 5; i++) store.create(table, `k${i}`, object(`k${i}`));
    store.compact(4);
    expect(table.eventsAfter(3)).toBeUndefined();
    expect(table.rangeAt(3, "")).toBeUndefined();
    expect(table.eventsAfter(4)?.map(({ revision }) => revision)).toEqual([5, 6]);
    expect(table.rangeAt(4, "")?.map(([key]) => key)).toEqual(["k0", "k1", "k2"]);
  });

  it("bounds history by what its objects weigh, and keeps the last event whatever it weighs", () => {
    const store = new Store({ clock: backgroundClock, maxEventSize: 10_000 });
    const table = store.table("t");
    const heavy = (name: string, length: number): ApiObject => ({
      metadata: { name },
      text: "x".repeat(length),
    });
    for (let i = 0; i < 40; i++) store.create(table, `k${i}`, heavy(`k${i}`, 1_000));
    expect(table.eventCount).toBeGreaterThanOrEqual(8);
    expect(table.eventCount).toBeLessThanOrEqual(11);
    expect(table.eventsAfter(store.revision - table.eventCount)).toHaveLength(table.eventCount);
    expect(table.eventsAfter(store.revision - table.eventCount - 1)).toBeUndefined();
    const last = store.create(table, "last", heavy("last", 100_000));
    expect(table.eventsAfter(store.revision - 1)?.map(({ object }) => object)).toEqual([last]);
    store.delete(table, "last", last);
    expect(table.eventCount).toBe(1);
    expect(table.size).toBe(40);
  });

  it("reads any past that it still has exactly as it was", () => {
    const key = fc.constantFrom("a/1", "a/2", "b/1", "c/1");
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.boolean()), { maxLength: 40 }), (steps) => {
        const store = new Store({ clock: backgroundClock });
        const table = store.table("t");
        const past: [number, string][] = [];
        const snapshot = () => JSON.stringify(table.rangeEntries(""));
        past.push([store.revision, snapshot()]);
        for (const [at, remove] of steps) {
          const current = table.get(at);
          if (!current) store.create(table, at, object(at, store.revision));
          else if (remove) store.delete(table, at, current);
          else store.update(table, at, object(at, store.revision), current);
          past.push([store.revision, snapshot()]);
        }
        for (const [revision, text] of past) expect(JSON.stringify(table.rangeAt(revision, ""))).toBe(text);
      }),
    );
  });
});
