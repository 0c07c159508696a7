/** What a composition does to children, in which order, and what it says of the object then. */
import { objectKey, type Stored } from "@keelson/core";
import { ConfigMap, Deployment, PersistentVolumeClaim, Secret } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { controller as declare, keep } from "../controller/controller.ts";
import { many, own, retired } from "../controller/declaration.ts";
import { done, fail, waiting } from "../controller/outcome.ts";
import { RuntimeError } from "../errors.ts";
import type { Applier } from "./applier.ts";
import { childKey } from "./child-body.ts";
import { composeAndRealise, inventoryOf, pruneRetired, type RunCompose } from "./composition.ts";
import { keyOfChild, type OwnedChildren } from "./owned-children.ts";

const owner = { metadata: { name: "web", namespace: "shop", uid: "u1" } } as Stored;
const ready = { status: { updatedReplicas: 1, replicas: 1, availableReplicas: 1 } };

const controller = declare(Secret, {
  name: "site",
  owns: {
    app: Deployment,
    after: own(ConfigMap, { after: "app", name: () => "after" } as never),
    parts: many(ConfigMap),
    claims: many(PersistentVolumeClaim),
    left: own(ConfigMap, { absent: "keep", name: () => "left" }),
    old: retired(ConfigMap),
  },
  compose: () => waiting("None", "it is not called"),
} as never);

class World {
  readonly did: string[] = [];
  readonly children = new Map<string, { slot: string; object: Stored }>();
  readonly fails = new Map<string, Error>();
  /** Applied, but with these fields. */
  made: object = ready;
  #version = 0;

  put(
    slot: string,
    name: string,
    { key, ...rest }: { key?: string; metadata?: object; status?: object } = {},
  ): this {
    const metadata = {
      ...{ name, namespace: "shop", uid: `uid-${name}`, resourceVersion: `${++this.#version}` },
      labels: key === undefined ? {} : { "keelson.dev/key": key },
      ...rest.metadata,
    };
    const { status } = rest;
    const object = { metadata, ...(status ? { status } : {}) } as unknown as Stored;
    this.children.set(`${slot}|${objectKey(object)}`, { slot, object });
    return this;
  }

  get owned(): OwnedChildren {
    const inSlot = (slot: string) =>
      [...this.children.values()].filter((each) => each.slot === slot).map(({ object }) => object);
    return {
      inSlot,
      get: ({ slot, key }: { slot: string; key: string }) =>
        inSlot(slot).find((each) => keyOfChild(each) === key),
      at: (slot: string, key: string) => this.children.get(`${slot}|${key}`)?.object,
      versions: () => [...this.children.values()].map(({ object }) => object.metadata.resourceVersion).join(),
    } as unknown as OwnedChildren;
  }

  get applier(): Applier {
    return {
      apply: async (id: { slot: string; key: string }, desired: { metadata?: { name?: string } }) => {
        const declared = controller.owns[id.slot] as never;
        const key = childKey(declared, owner, id, desired as never);
        this.did.push(`apply ${id.slot} ${key}`);
        const error = this.fails.get(key);
        if (error) throw error;
        const there = this.children.get(`${id.slot}|${key}`);
        if (!there)
          this.put(id.slot, key.slice("shop/".length), { ...(id.key ? { key: id.key } : {}), ...this.made });
        return this.children.get(`${id.slot}|${key}`)?.object;
      },
      delete: async (_: unknown, object: Stored) => {
        this.did.push(`delete ${objectKey(object)}`);
        for (const [key, each] of this.children) if (each.object === object) this.children.delete(key);
      },
    } as unknown as Applier;
  }

  async compose(compose: RunCompose | object, statuses: object[] = []) {
    const run = typeof compose === "function" ? compose : () => ({ children: compose });
    const parts = { controller: controller as never, owner, children: this.owned, applier: this.applier };
    return await composeAndRealise(parts, run as RunCompose, (status) => void statuses.push(status));
  }
}

const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };

describe("a composition", () => {
  test("is applied in order, and the object is done when all of it is ready", async () => {
    const world = new World();
    expect(await world.compose({ after: {}, app: {}, parts: { a: {}, b: {} } })).toEqual(done());
    const once = [
      "apply app shop/web",
      "apply after shop/after",
      "apply parts shop/web-a",
      "apply parts shop/web-b",
    ];
    // Once more for what was just made.
    expect(world.did).toEqual([...once, ...once]);
    world.did.length = 0;
    await world.compose({ app: {} });
    expect(world.did.slice(0, 4)).toEqual([
      "apply app shop/web",
      "delete shop/after",
      "delete shop/web-a",
      "delete shop/web-b",
    ]);
  });

  test("that changes nothing is run once", async () => {
    let runs = 0;
    const world = new World().put("app", "web", ready);
    const statuses: object[] = [];
    await world.compose(() => {
      runs++;
      return { children: { app: {} }, status: { runs } } as never;
    }, statuses);
    expect(runs).toBe(1);
    expect(statuses).toEqual([{ runs: 1 }]);
  });

  test("that changes something is run twice, and no more, and its last status counts", async () => {
    let runs = 0;
    const world = new World();
    const statuses: object[] = [];
    await world.compose(() => {
      runs++;
      return {
        children: { parts: { [`k${runs}`]: {} } },
        ...(runs === 1 ? {} : { status: { runs } }),
      } as never;
    }, statuses);
    expect(runs).toBe(2);
    expect(statuses).toEqual([{ runs: 2 }]);
  });

  test("may be an outcome instead: then nothing is done", async () => {
    const world = new World().put("parts", "web-a", { key: "a" });
    expect(await world.compose(() => fail("Bad", "no"))).toEqual(fail("Bad", "no"));
    expect(world.did).toEqual([]);
  });
});

describe("what is not in a composition", () => {
  test("is deleted once, and kept where its slot or the composition says so", async () => {
    const world = new World()
      .put("parts", "web-a", { key: "a" })
      .put("parts", "web-b", { key: "b" })
      .put("parts", "web-c", { key: "c", metadata: going })
      .put("claims", "web-0", { key: "0" })
      .put("left", "left")
      .put("old", "old");
    await world.compose({ parts: { a: {}, b: undefined } });
    expect(world.did).toContain("delete shop/web-b");
    expect(world.did.filter((each) => each.startsWith("delete"))).toEqual(["delete shop/web-b"]);
  });

  test("stays where the slot, or a key of it, is to be kept", async () => {
    const world = new World().put("parts", "web-a", { key: "a" }).put("parts", "web-b", { key: "b" });
    await world.compose({ parts: keep });
    expect(world.did).toEqual([]);
    await world.compose({ parts: { a: keep } });
    expect(world.did).toEqual(["delete shop/web-b"]);
  });

  test("goes by the name that a child has: one that is renamed is made again", async () => {
    const world = new World().put("parts", "earlier", { key: "a" });
    await world.compose({ parts: { a: {} } });
    expect(world.did.slice(0, 2)).toEqual(["apply parts shop/web-a", "delete shop/earlier"]);
  });

  test("of a retired slot is deleted by itself", async () => {
    const world = new World()
      .put("old", "a")
      .put("old", "b", { metadata: going })
      .put("parts", "c", { key: "c" });
    await pruneRetired(controller as never, world.owned, world.applier);
    expect(world.did).toEqual(["delete shop/a"]);
  });
});

describe("a child that waits for another", () => {
  test("is not made before that one is ready, and is left as it is when it is there", async () => {
    const world = new World();
    world.made = {};
    const message = "Deployment.apps web 0 of 1 replicas are updated; others come after it";
    expect(await world.compose({ app: {}, after: {} })).toEqual(waiting("ChildrenNotReady", message));
    expect(world.did).not.toContain("apply after shop/after");
    world.put("after", "after");
    expect(await world.compose({ app: {}, after: {} })).toMatchObject({ outcome: "waiting" });
    expect(world.did).toContain("apply after shop/after");
  });

  test("waits for one that is not made, and for one that is being deleted", async () => {
    const kept = await new World().compose({ app: keep, after: {} });
    expect(kept).toEqual(done());
    const deleting = new World().put("app", "web", { ...ready, metadata: going });
    expect(await deleting.compose({ app: keep, after: {} })).toEqual(
      waiting("ChildrenNotReady", "Deployment.apps web is being deleted; others come after it"),
    );
    expect(deleting.did).toEqual([]);
  });

  test("waits for all of a slot that is kept", async () => {
    const world = new World().put("app", "web", ready);
    expect(await world.compose({ app: keep, after: {} })).toEqual(done());
    expect(world.did).toContain("apply after shop/after");
  });
});

describe("how the object stands", () => {
  const unready = () => new World().put("app", "web").put("parts", "web-a", { key: "a", metadata: going });

  test("names the first child that is not ready, and how many more there are", async () => {
    const world = unready();
    expect(await world.compose({ app: {}, parts: { b: {} } })).toMatchObject({
      outcome: "waiting",
      reason: "ChildrenNotReady",
      message: "Deployment.apps web 0 of 1 replicas are updated",
    });
    expect(
      await new World().put("app", "web").compose({ app: {}, parts: { a: keep, b: keep } }),
    ).toMatchObject({
      message: "Deployment.apps web 0 of 1 replicas are updated, and 2 more",
    });
    expect(await new World().compose({ parts: { a: keep } })).toMatchObject({
      message: 'ConfigMap "a" is not made yet',
    });
  });

  test("is what the composition says, unless that is done while something is held up", async () => {
    const said = (outcome: object) =>
      new World().put("app", "web").compose(() => ({ children: { app: {} }, outcome }) as never);
    expect(await said(done())).toEqual(done());
    expect(await said(waiting("Own", "word"))).toEqual(waiting("Own", "word"));
    const held = (outcome: object | undefined) =>
      new World()
        .put("app", "web", { metadata: going })
        .compose(() => ({ children: { app: {} }, outcome }) as never);
    const message = "Deployment.apps web is being deleted; others come after it";
    expect(await held(done())).toEqual(waiting("ChildrenNotReady", message));
    expect(await held(undefined)).toEqual(waiting("ChildrenNotReady", message));
    expect(await held(fail("Own", "word"))).toEqual(fail("Own", "word"));
  });

  test("is judged by the slot where that says what ready is", async () => {
    const own_ = declare(Secret, {
      name: "site",
      owns: {
        app: own(ConfigMap, {
          ready: (child: unknown) => (child as { data?: object }).data !== undefined,
        } as never),
      },
      compose: () => waiting("None", "it is not called"),
    } as never);
    const world = new World().put("app", "web");
    const parts = { controller: own_ as never, owner, children: world.owned, applier: world.applier };
    const outcome = await composeAndRealise(
      parts,
      () => ({ children: { app: keep } }) as never,
      () => {},
    );
    expect(outcome).toMatchObject({ outcome: "waiting", message: "ConfigMap web is not ready" });
  });
});

describe("children that fail", () => {
  test("do not keep the others from being applied, and nothing is pruned then", async () => {
    const world = new World().put("parts", "web-z", { key: "z" });
    world.fails.set("shop/web-a", new RuntimeError("NotOurs", "a is not ours"));
    world.fails.set("shop/web-c", new Error("c failed"));
    const failing = world.compose({ parts: { a: {}, b: {}, c: {} } });
    await expect(failing).rejects.toMatchObject({ code: "NotOurs", message: "a is not ours; and c failed" });
    expect(world.did).toEqual(["apply parts shop/web-a", "apply parts shop/web-b", "apply parts shop/web-c"]);
  });

  test("alone, or first and of another kind, are thrown as they are", async () => {
    const [first, second] = [new Error("one"), new RuntimeError("NotOurs", "two")];
    const alone = new World();
    alone.fails.set("shop/web-a", second);
    await expect(alone.compose({ parts: { a: {} } })).rejects.toBe(second);
    const both = new World();
    both.fails.set("shop/web-a", first).set("shop/web-b", second);
    await expect(both.compose({ parts: { a: {}, b: {} } })).rejects.toBe(first);
  });
});

describe("a composition is refused", () => {
  test.each([
    [
      "with children of a slot that is not declared",
      { other: {} },
      'children for "other", which is no slot of controller "site"; its slots are: app, ',
    ],
    ["with children of a slot that is retired", { old: {} }, 'children for "old", which is a retired slot'],
    [
      "that makes two children of one name",
      { parts: { a: { metadata: { name: "x" } }, b: { metadata: { name: "x" } } } },
      'slots "parts" and "parts" both make ConfigMap shop/x',
    ],
  ])("%s", async (_, children, message) => {
    const world = new World();
    await expect(world.compose(children)).rejects.toThrow(message);
    expect(world.did).toEqual([]);
  });

  test("and not for one that is named as another of another kind is, or that is kept", async () => {
    const world = new World().put("app", "web", ready);
    expect(
      await world.compose({ app: {}, after: { metadata: { name: "web" } }, parts: { a: undefined } }),
    ).toEqual(done());
  });
});

test("the inventory has every child with its place, its kind and its UID", () => {
  const world = new World().put("app", "web").put("parts", "web-a", { key: "a", metadata: going });
  expect(inventoryOf(controller as never, world.owned)).toEqual([
    { slot: "app", group: "apps", kind: "Deployment", name: "web", uid: "uid-web" },
    { slot: "parts", key: "a", kind: "ConfigMap", name: "web-a", uid: "uid-web-a" },
  ]);
});
