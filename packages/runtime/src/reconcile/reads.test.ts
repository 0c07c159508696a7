/** What a controller reads beside its children, and which of its objects a change leads back to. */
import type { Stored } from "@keelson/core";
import { ConfigMap, Namespace, Secret } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import type { Change, Informer } from "../cache/informer.ts";
import { ObjectCache } from "../cache/object-cache.ts";
import type { Controller } from "../controller/controller.ts";
import { ReadSet } from "./reads.ts";

interface Named {
  readonly namespace?: string | undefined;
  readonly labels?: Record<string, string>;
  readonly version?: string;
  readonly uid?: string;
  readonly spec?: object;
}

const object = (
  name: string,
  { namespace = "shop", labels = {}, version = "1", uid = `uid-${name}`, spec }: Named = {},
) =>
  ({
    apiVersion: "v1",
    kind: "X",
    metadata: { name, ...(namespace === "" ? {} : { namespace }), uid, resourceVersion: version, labels },
    ...(spec ? { spec } : {}),
  }) as unknown as Stored;
type Spec = { ref?: object; select?: object };
const specOf = (primary: Stored) => (primary as { spec?: Spec }).spec ?? {};

const reads = {
  secret: { role: "ref", kind: Secret, ref: (primary: Stored) => specOf(primary).ref },
  home: { role: "ref", kind: Namespace, ref: (primary: Stored) => specOf(primary).ref },
  chosen: { role: "select", kind: ConfigMap, select: (primary: Stored) => specOf(primary).select },
  every: { role: "all", kind: ConfigMap },
  some: { role: "all", kind: ConfigMap, labels: "a=b" },
  outside: { role: "poll" },
};

class World {
  readonly asked: { kind: string; scope: object }[] = [];
  readonly caches = new Map<string, ObjectCache>();
  readonly found = new Map<string, Stored>();
  readonly looked: string[] = [];
  readonly set: ReadSet;
  readonly primary = this.#cache("primary");

  constructor({ namespace, wholeKinds = [] }: { namespace?: string; wholeKinds?: readonly string[] } = {}) {
    const services = {
      namespace,
      wholeKinds: new Set(wholeKinds),
      informers: {
        for: ({ kind }: { kind: string }, scope: object) => {
          this.asked.push({ kind, scope });
          const name = ["secret", "home", "chosen", "every", "some"][this.asked.length - 1] as string;
          return { name, cache: this.#cache(name) };
        },
      },
    };
    const client = {
      kind: () => ({
        find: async ({ namespace: of, name }: { namespace?: string; name: string }) => {
          const key = of === undefined ? name : `${of}/${name}`;
          this.looked.push(key);
          return this.found.get(key);
        },
      }),
    };
    const controller = { name: "site", reads } as unknown as Controller;
    this.set = new ReadSet(
      controller,
      { cache: this.primary } as unknown as Informer,
      services as never,
      client as never,
    );
  }

  #cache(name: string): ObjectCache {
    const cache = new ObjectCache({ name });
    cache.begin(false);
    cache.end("100");
    this.caches.set(name, cache);
    return cache;
  }

  put(slot: string, ...objects: Stored[]): this {
    for (const each of objects) this.caches.get(slot)?.observe(each);
    return this;
  }

  of(primary: Stored, now = primary) {
    return this.set.of(primary, () => now) as Record<string, unknown>;
  }

  /** Keys that a change of this slot leads to. */
  readers(slot: string, change: object): string[] {
    const watch = this.set
      .watches()
      .find(({ informer }) => (informer as unknown as { name: string }).name === slot);
    return [...(watch?.map(change as Change) ?? [])].map(({ key }) => key).sort();
  }
}

const signal = new AbortController().signal;
const versioned = (name: string, version: string, more: Named = {}) => object(name, { version, ...more });
const names = (value: unknown) => (value as Stored[]).map(({ metadata }) => metadata.name);

describe("what is kept of what is read", () => {
  test("is all of a kind, or of what is only named the metadata", () => {
    expect(new World().asked).toEqual([
      { kind: "Secret", scope: { metadataOnly: true } },
      { kind: "Namespace", scope: { metadataOnly: true } },
      { kind: "ConfigMap", scope: {} },
      { kind: "ConfigMap", scope: {} },
      { kind: "ConfigMap", scope: { labels: "a=b" } },
    ]);
  });

  test("is of one namespace where the operator is, and whole where the operator keeps it whole anyway", () => {
    expect(new World({ namespace: "shop", wholeKinds: ["Secret"] }).asked.map(({ scope }) => scope)).toEqual([
      { namespace: "shop" },
      { metadataOnly: true },
      { namespace: "shop" },
      { namespace: "shop" },
      { labels: "a=b", namespace: "shop" },
    ]);
  });
});

describe("an object that is named", () => {
  const primary = object("web", { spec: { ref: { name: "s" } } });

  test("is read whole before a run, and again only when it has changed", async () => {
    const world = new World().put("secret", versioned("s", "7"));
    const whole = versioned("s", "7", { spec: { whole: true } });
    world.found.set("shop/s", whole);
    expect([world.set.loads, world.set.keeps]).toEqual([true, false]);
    expect(world.of(primary)["secret"]).toBeUndefined();
    await world.set.load(primary, signal);
    await world.set.load(primary, signal);
    expect(world.looked).toEqual(["shop/s"]);
    expect(world.of(primary)["secret"]).toEqual(whole);
    expect(world.set.keeps).toBe(true);
    world.put("secret", versioned("s", "101"));
    world.found.set("shop/s", versioned("s", "102"));
    await world.set.load(primary, signal);
    await world.set.load(primary, signal);
    expect(world.looked).toHaveLength(2);
    world.put("secret", versioned("s", "103", { uid: "another" }));
    expect(world.of(primary)["secret"]).toBeUndefined();
    await world.set.load(primary, signal);
    expect(world.looked).toHaveLength(3);
  });

  test("is not asked for where it is not there, and forgotten where it is gone by then", async () => {
    const world = new World();
    await world.set.load(primary, signal);
    await world.set.load(object("web"), signal);
    expect(world.looked).toEqual([]);
    expect(world.of(object("web"))["secret"]).toBeUndefined();
    world.put("secret", versioned("s", "7"));
    world.found.set("shop/s", versioned("s", "7"));
    await world.set.load(primary, signal);
    world.put("secret", versioned("s", "104"));
    world.found.clear();
    await world.set.load(primary, signal);
    expect(world.set.keeps).toBe(false);
  });

  test("is that of the object as it was when it was read", async () => {
    const world = new World().put("secret", versioned("s", "7"), versioned("t", "8"));
    world.found.set("shop/s", versioned("s", "7"));
    await world.set.load(primary, signal);
    const later = object("web", { spec: { ref: { name: "t" } } });
    expect((world.of(primary, later)["secret"] as Stored).metadata.name).toBe("s");
  });

  test("of the cluster is found by its name, and one in another namespace by both", async () => {
    const world = new World()
      .put("home", versioned("n", "7", { namespace: "" }))
      .put("secret", versioned("n", "7", { namespace: "vault" }));
    await world.set.load(object("web", { spec: { ref: { namespace: "vault", name: "n" } } }), signal);
    expect(world.looked.sort()).toEqual(["n", "vault/n"]);
  });

  test("is not kept when nobody names it any more", async () => {
    const world = new World().put("secret", versioned("s", "7"));
    world.found.set("shop/s", versioned("s", "7"));
    world.put("primary", primary);
    await world.set.load(primary, signal);
    world.set.released(primary);
    expect(world.set.keeps).toBe(true);
    world.set.released(object("web"));
    world.put("primary", versioned("web", "105"));
    world.set.released(object("other", { spec: { ref: { name: "unread" } } }));
    expect(world.set.keeps).toBe(true);
    world.set.released(primary);
    expect(world.set.keeps).toBe(false);
  });

  test("that the operator keeps whole is that of the cache", () => {
    const world = new World({ wholeKinds: ["Secret", "Namespace"] }).put(
      "secret",
      versioned("s", "7"),
      versioned("t", "8"),
    );
    expect([world.set.loads, world.set.keeps]).toEqual([false, false]);
    expect((world.of(primary)["secret"] as Stored).metadata.name).toBe("s");
    const later = object("web", { spec: { ref: { name: "t" } } });
    expect((world.of(primary, later)["secret"] as Stored).metadata.name).toBe("t");
  });
});

describe("what is selected", () => {
  const selecting = (select?: object) => object("web", { spec: { select } });
  const world = () =>
    new World().put(
      "chosen",
      object("b", { labels: { app: "x", tier: "1" } }),
      object("a", { labels: { app: "x", tier: "1" } }),
      object("c", { labels: { app: "x" } }),
      object("d", { labels: { app: "x", tier: "1" }, namespace: "vault" }),
    );

  test("has all of the labels, in the namespace of the object or of the selection, in the order of names", () => {
    const labels = { app: "x", tier: "1" };
    expect(names(world().of(selecting({ labels }))["chosen"])).toEqual(["a", "b"]);
    expect(names(world().of(selecting({ labels, namespace: "vault" }))["chosen"])).toEqual(["d"]);
    expect(names(world().of(selecting({ labels: {} }))["chosen"])).toEqual(["a", "b", "c"]);
    expect(world().of(selecting())["chosen"]).toEqual([]);
  });

  test("leads back to who selects it, by what it is and by what it was", () => {
    const one = world().put(
      "primary",
      object("one", { spec: { select: { labels: { tier: "1", app: "x" } } } }),
      object("two", { spec: { select: { labels: { app: "y" } } } }),
      object("three", { spec: { select: { labels: {} } } }),
      object("four", { spec: { select: { labels: { app: "x" }, namespace: "vault" } } }),
      object("five"),
    );
    const change = (now: Stored, previous?: Stored) =>
      one.readers("chosen", { type: "modified", key: "k", object: now, previous });
    expect(change(object("a", { labels: { app: "x" } }))).toEqual(["shop/one", "shop/three"]);
    expect(change(object("a", { labels: { app: "y" } }), object("a", { labels: { app: "x" } }))).toEqual([
      "shop/one",
      "shop/three",
      "shop/two",
    ]);
    expect(change(object("a", { labels: { app: "x" }, namespace: "vault" }))).toEqual(["shop/four"]);
    expect(change(object("a"))).toEqual(["shop/three"]);
  });
});

describe("a change leads back", () => {
  test("of an object that is named, to who names it", () => {
    const world = new World().put(
      "primary",
      object("one", { spec: { ref: { name: "s" } } }),
      object("two", { spec: { ref: { name: "s", namespace: "vault" } } }),
      object("three"),
    );
    expect(world.readers("secret", { type: "modified", key: "shop/s", object: object("s") })).toEqual([
      "shop/one",
    ]);
    expect(world.readers("secret", { type: "modified", key: "vault/s", object: object("s") })).toEqual([
      "shop/two",
    ]);
    expect(world.readers("home", { type: "modified", key: "s", object: object("s") })).toEqual([
      "shop/one",
      "shop/two",
    ]);
  });

  test("of anything of a kind that is read whole, to everyone", () => {
    const world = new World()
      .put("primary", object("one"), object("two"))
      .put("every", object("b"), object("a"));
    expect(world.readers("every", { type: "added", key: "k", object: object("k") })).toEqual([
      "shop/one",
      "shop/two",
    ]);
    expect(names(world.of(object("one"))["every"])).toEqual(["a", "b"]);
  });

  test("with its cause, and what was read of an object that is gone is forgotten", async () => {
    const primary = object("one", { spec: { ref: { name: "s" } } });
    const world = new World().put("primary", primary).put("secret", versioned("s", "7"));
    world.found.set("shop/s", versioned("s", "7"));
    await world.set.load(primary, signal);
    const watch = world.set.watches()[0];
    const change = (type: string) => [
      ...(watch?.map({ type, key: "shop/s", resourceVersion: "9" } as never) ?? []),
    ];
    expect(change("modified")).toEqual([
      { key: "shop/one", cause: { type: "read", kind: "Secret", key: "shop/s", resourceVersion: "9" } },
    ]);
    expect(world.set.keeps).toBe(true);
    change("deleted");
    expect(world.set.keeps).toBe(false);
  });
});

test("caches that others share are left as they were", () => {
  const world = new World().put(
    "primary",
    object("one", { spec: { ref: { name: "s" }, select: { labels: {} } } }),
  );
  const indexed = (slot: string, anchor: string) => {
    try {
      return [...world.primary.keysByIndex(`site/reads/${slot}`, anchor)].length;
    } catch {
      return "no index";
    }
  };
  expect([indexed("secret", "shop/s"), indexed("chosen", "shop|")]).toEqual([1, 1]);
  world.set.release();
  expect([indexed("secret", "shop/s"), indexed("chosen", "shop|")]).not.toEqual([1, 1]);
  expect(world.set.informers).toHaveLength(5);
});
