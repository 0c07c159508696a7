import { ReceivedObject } from "@keelson/client";
import { Decoding } from "@keelson/client/internal";
import { dynamicKind, type Stored } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { ObjectCache } from "./object-cache.ts";

function pod(
  name: string,
  version: number | string,
  extra: { uid?: string; labels?: Record<string, string> } = {},
): Stored {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: extra.uid ?? `uid-${name}`,
      resourceVersion: String(version),
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...(extra.labels ? { labels: extra.labels } : {}),
    },
  };
}

function synced(...objects: Stored[]): ObjectCache {
  const cache = new ObjectCache({ name: "Pod" });
  cache.addIndex("app", (object) => (object.metadata.labels?.app ? [object.metadata.labels.app] : []));
  cache.begin(false);
  for (const object of objects) cache.observe(object);
  cache.end("10");
  return cache;
}

const version = (cache: ObjectCache, name: string) => cache.get(`default/${name}`)?.metadata.resourceVersion;

describe("what the watch delivers", () => {
  test("is frozen, all the way down", () => {
    const cache = synced(pod("a", 5, { labels: { app: "x" } }));
    const object = cache.get("default/a") as { metadata: { labels: Record<string, string> } };
    expect(() => {
      object.metadata.labels.app = "y";
    }).toThrow(TypeError);
  });

  test("carries no managed fields", () => {
    const object = pod("a", 5);
    object.metadata.managedFields = [{ manager: "kubectl" }];
    const cache = synced(object);
    expect(cache.get("default/a")?.metadata).not.toHaveProperty("managedFields");
  });

  test("is found by namespace and index, and no longer under what it was", () => {
    const cache = synced(pod("a", 5, { labels: { app: "x" } }), pod("b", 6, { labels: { app: "x" } }));
    expect(cache.byIndex("app", "x").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    cache.observe(pod("a", 11, { labels: { app: "y" } }));
    expect(cache.byIndex("app", "x").map(({ metadata }) => metadata.name)).toEqual(["b"]);
    expect(cache.byIndex("app", "y").map(({ metadata }) => metadata.name)).toEqual(["a"]);
    cache.observeDeleted(pod("b", 12));
    expect(cache.byIndex("app", "x")).toEqual([]);
    expect(cache.list("default")).toHaveLength(1);
    expect(cache.list("other")).toEqual([]);
  });

  test("replaces the whole state after a new read: what is missing was deleted unseen", () => {
    const cache = synced(pod("a", 5), pod("b", 6));
    cache.begin(false);
    cache.observe(pod("b", 6));
    cache.observe(pod("c", 18));
    expect(cache.end("20").map(({ metadata }) => metadata.name)).toEqual(["a"]);
    expect([...cache.keys()].sort()).toEqual(["default/b", "default/c"]);
  });
});

describe("our own writes", () => {
  test("are seen by get, list and indexes before the watch delivers them", () => {
    const cache = synced();
    cache.wrote(pod("a", 11, { labels: { app: "x" } }));
    expect(version(cache, "a")).toBe("11");
    expect(cache.list()).toHaveLength(1);
    expect(cache.byIndex("app", "x")).toHaveLength(1);
  });

  test("are not undone by older events, and give way to newer ones", () => {
    const cache = synced(pod("a", 5));
    cache.wrote(pod("a", 15));
    cache.observe(pod("a", 12));
    expect(version(cache, "a")).toBe("15");
    cache.observe(pod("a", 15));
    cache.observe(pod("a", 16));
    expect(version(cache, "a")).toBe("16");
  });

  test("compare versions as integers of any size", () => {
    const cache = synced();
    cache.wrote(pod("a", "123456789012345678901234567890"));
    cache.observe(pod("a", "99999999999999999999999999999"));
    expect(version(cache, "a")).toBe("123456789012345678901234567890");
  });

  test("survive the deletion of an earlier object of the same name", () => {
    const cache = synced(pod("a", 5, { uid: "old" }));
    cache.wrote(pod("a", 15, { uid: "new" }));
    cache.observeDeleted(pod("a", 12, { uid: "old" }));
    expect(cache.get("default/a")?.metadata.uid).toBe("new");
  });

  test("that changed nothing clear at once: the next event is taken as it is", () => {
    const cache = synced(pod("a", 5));
    cache.wrote(pod("a", 5));
    cache.observe(pod("a", 11));
    expect(version(cache, "a")).toBe("11");
  });

  test("whose answer comes after the watch has passed them do not come back", () => {
    const cache = synced();
    cache.observe(pod("a", 11));
    cache.observeDeleted(pod("a", 12));
    cache.wrote(pod("a", 11));
    expect(cache.get("default/a")).toBeUndefined();
  });

  test("survive a read of the whole state that is older than they are", () => {
    const cache = synced();
    cache.wrote(pod("a", 25));
    cache.begin(false);
    expect(cache.end("20")).toEqual([]);
    expect(version(cache, "a")).toBe("25");
    cache.begin(false);
    expect(cache.end("30")).toHaveLength(1);
    expect(cache.get("default/a")).toBeUndefined();
  });

  test("are dropped when the server's storage went back in time", () => {
    const cache = synced(pod("a", 5));
    cache.wrote(pod("a", 1_000));
    cache.begin(true);
    cache.observe(pod("a", 3));
    cache.end("4");
    expect(version(cache, "a")).toBe("3");
  });

  test("that leave the cache's scope leave the cache", () => {
    const cache = new ObjectCache({ accepts: (object) => object.metadata.labels?.app === "x" });
    cache.begin(false);
    cache.observe(pod("a", 5, { labels: { app: "x" } }));
    cache.end("10");
    cache.wrote(pod("a", 11, { labels: { app: "y" } }));
    expect(cache.get("default/a")).toBeUndefined();
    cache.wrote(pod("b", 12, { labels: { app: "y" } }));
    expect(cache.size).toBe(0);
  });
});

describe("our own deletes", () => {
  test("hide the object from get, list and indexes, whatever the watch still says of it", () => {
    const cache = synced(pod("a", 5, { labels: { app: "x" } }));
    cache.gone("default/a", "uid-a");
    expect(cache.get("default/a")).toBeUndefined();
    expect(cache.list()).toEqual([]);
    expect(cache.byIndex("app", "x")).toEqual([]);
    expect(cache.size).toBe(0);
    cache.observe(pod("a", 12, { labels: { app: "x" } }));
    expect(cache.get("default/a")).toBeUndefined();
    cache.observeDeleted(pod("a", 13));
    expect([...cache.keys()]).toEqual([]);
  });

  test("do not hide another object of the same name", () => {
    const cache = synced(pod("a", 5, { uid: "old" }));
    cache.gone("default/a", "old");
    cache.observe(pod("a", 12, { uid: "new" }));
    expect(cache.get("default/a")?.metadata.uid).toBe("new");
  });

  test("do not bring back what was there before the deleted one", () => {
    const cache = synced(pod("a", 5, { uid: "first" }));
    cache.wrote(pod("a", 20, { uid: "second" }));
    cache.gone("default/a", "second");
    cache.observe(pod("a", 7, { uid: "first" }));
    expect(cache.get("default/a")).toBeUndefined();
    cache.observeDeleted(pod("a", 8, { uid: "first" }));
    cache.observe(pod("a", 20, { uid: "second" }));
    expect(cache.get("default/a")).toBeUndefined();
    cache.observeDeleted(pod("a", 21, { uid: "second" }));
    expect([...cache.keys()]).toEqual([]);
  });

  test("a negative answer about one object says nothing of the next under its name", () => {
    const cache = synced(pod("a", 5, { uid: "new" }));
    cache.gone("default/a", "old");
    expect(cache.get("default/a")?.metadata.uid).toBe("new");
  });
});

describe("a write of unknown outcome", () => {
  test("keeps the object from being served until a live read has told", () => {
    const cache = synced(pod("a", 5), pod("b", 6));
    cache.doubt("default/a");
    expect(() => cache.get("default/a")).toThrow("may or may not have happened");
    expect(() => cache.list()).toThrow("may or may not have happened");
    expect(version(cache, "b")).toBe("6");
    cache.wrote(pod("a", 7));
    expect(version(cache, "a")).toBe("7");
    cache.doubt("default/b");
    cache.gone("default/b", "uid-b");
    expect(cache.list()).toHaveLength(1);
  });
});

describe("what came as JSON", () => {
  const kind = dynamicKind({ group: "", version: "v1", kind: "Pod", resource: "pods", scope: "Namespaced" });
  const decoding = new Decoding({ kind, dropManagedFields: true });
  const text = (name: string, version: number, extra: Parameters<typeof pod>[2] = {}) => {
    const bytes = Buffer.from(JSON.stringify(pod(name, version, extra)));
    return ReceivedObject.read(bytes, 0, bytes.length, decoding) as ReceivedObject;
  };

  test("is read, replaced, indexed and deleted as an object is", () => {
    const cache = new ObjectCache({ name: "Pod" });
    cache.addIndex("app", (object) => (object.metadata.labels?.app ? [object.metadata.labels.app] : []));
    cache.begin(false);
    for (const name of ["a", "b"]) cache.observe(text(name, 5, { labels: { app: "x" } }));
    cache.end("10");
    expect(cache.uidOf("default/a")).toBe("uid-a");
    expect(cache.byIndex("app", "x").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    const seen = cache.observe(text("a", 11, { labels: { app: "y" } }));
    expect([seen.news, seen.known, seen.previous?.metadata.labels, seen.object.metadata.labels]).toEqual([
      true,
      true,
      { app: "x" },
      { app: "y" },
    ]);
    expect(seen.object).toBe(cache.get("default/a"));
    expect(cache.byIndex("app", "x").map(({ metadata }) => metadata.name)).toEqual(["b"]);
    expect(Object.isFrozen(cache.get("default/a")?.metadata.labels)).toBe(true);
    cache.observeDeleted(text("a", 12));
    expect([cache.size, cache.list().length, cache.byIndex("app", "y")]).toEqual([1, 1, []]);
  });

  test("gives way to our own writes, and a new read of the state that repeats it is no news", () => {
    const cache = new ObjectCache({ name: "Pod" });
    cache.begin(false);
    cache.observe(text("a", 5));
    cache.end("10");
    cache.wrote(pod("a", 15));
    expect(cache.observe(text("a", 12)).object.metadata.resourceVersion).toBe("12");
    expect(version(cache, "a")).toBe("15");
    expect(cache.observe(text("a", 15)).news).toBe(true);
    cache.begin(false);
    expect(cache.observe(text("a", 15)).news).toBe(false);
    expect(cache.end("20")).toEqual([]);
    cache.gone("default/a", "uid-a");
    expect([cache.size, cache.get("default/a")]).toEqual([0, undefined]);
    expect(cache.observe(text("a", 21, { uid: "new" })).known).toBe(false);
    expect(cache.uidOf("default/a")).toBe("new");
  });

  test("is parsed again when nobody read it for two bookmarks, in a large cache only", () => {
    const cache = new ObjectCache({ name: "Pod" });
    cache.begin(false);
    cache.observe(text("small", 1));
    cache.end("10");
    const small = cache.get("default/small");
    for (const bookmark of ["11", "12", "13"]) cache.caughtUp(bookmark);
    expect(cache.get("default/small")).toBe(small);
    const long = { labels: { long: "x".repeat(1 << 20) } };
    for (let i = 0; i < 5; i++) cache.observe(text(`large-${i}`, 20 + i, long));
    const [read, unread] = [cache.get("default/large-0"), cache.get("default/large-1")];
    for (const bookmark of ["30", "31", "32"]) {
      expect(cache.get("default/large-0")).toBe(read);
      cache.caughtUp(bookmark);
    }
    expect(cache.get("default/large-1")).not.toBe(unread);
    expect(cache.get("default/large-1")).toEqual(unread);
  });
});
