import { objectKey, type Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import type { Informer } from "../cache/informer.ts";
import { ObjectCache } from "../cache/object-cache.ts";
import type { Controller } from "../controller/controller.ts";
import { OwnedChildren, ownerIndex, ownerIndexValues } from "./owned-children.ts";

const controller = {
  owns: { parts: { kind: ConfigMap, options: {} }, kept: { kind: ConfigMap, options: { outlives: true } } },
} as unknown as Controller;
const owner = { metadata: { name: "web", namespace: "shop", uid: "u1" } } as Stored;

interface Marks {
  readonly slot?: string;
  readonly key?: string;
  /** UID of its controller. */
  readonly of?: string;
  /** Name of its owner. */
  readonly named?: string;
  readonly home?: string;
  readonly deleting?: boolean;
  readonly namespace?: string;
  readonly version?: string;
}

function child(
  name: string,
  { slot = "parts", key, of, named, home, deleting, namespace = "shop", version = "1" }: Marks = {},
): Stored {
  const labels = {
    "keelson.dev/slot": slot,
    ...(key === undefined ? {} : { "keelson.dev/key": key }),
    ...(named === undefined ? {} : { "keelson.dev/owner": named }),
    ...(home === undefined ? {} : { "keelson.dev/owner-namespace": home }),
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      ...{ name, namespace, uid: `uid-${name}`, resourceVersion: version, labels },
      ...(of === undefined ? {} : { ownerReferences: [{ uid: of, controller: true }] }),
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
  } as unknown as Stored;
}

function seen(...children: Stored[]): OwnedChildren {
  const informer = (slot: string) => {
    const cache = new ObjectCache({ name: "ConfigMap" });
    cache.addIndex(ownerIndex, ownerIndexValues);
    cache.begin(false);
    for (const each of children) if (each.metadata.labels?.["keelson.dev/slot"] === slot) cache.observe(each);
    cache.end("100");
    return { cache } as unknown as Informer;
  };
  const informers = new Map(["parts", "kept"].map((slot) => [slot, informer(slot)]));
  return new OwnedChildren(controller, informers, owner);
}

const names = (objects: Iterable<Stored>) => [...objects].map(({ metadata }) => metadata.name);
const ours = { of: "u1" };

describe("children by owner", () => {
  test("are those of this owner's UID, in the order of their names", () => {
    const children = seen(child("b", ours), child("a", ours), child("c", { of: "u2" }), child("d"));
    expect(names(children.inSlot("parts"))).toEqual(["a", "b"]);
    expect(names(children.inSlot("kept"))).toEqual([]);
  });

  test("that outlive it are found by its name as well: in its namespace, in none, and with it where it is another", () => {
    const kept = (change: Marks) => ({ slot: "kept", named: "web", ...change });
    const children = seen(
      child("a", kept({})),
      child("b", kept({ named: "other" })),
      child("c", kept({ namespace: "vault", home: "shop" })),
      child("d", kept({ namespace: "vault" })),
      child("e", kept({ home: "elsewhere" })),
      child("f", { slot: "kept", of: "u1" }),
      // The reference counts where there is one.
      child("g", kept({ of: "u2" })),
    );
    expect(names(children.inSlot("kept"))).toEqual(["a", "f", "c"]);
  });

  test("by a name alone are none of a slot that does not outlive its owner", () => {
    expect(names(seen(child("a", { named: "web" })).inSlot("parts"))).toEqual([]);
  });

  test("under one name", () => {
    const children = seen(
      child("a", ours),
      child("b", { of: "u2" }),
      child("c", { slot: "kept", named: "web" }),
    );
    const at = (slot: string, name: string) => children.at(slot, `shop/${name}`)?.metadata.name;
    expect([at("parts", "a"), at("parts", "b"), at("parts", "x"), at("kept", "c")]).toEqual([
      "a",
      undefined,
      undefined,
      "c",
    ]);
  });
});

describe("the child of a key", () => {
  const get = (key: string, ...children: Stored[]) =>
    seen(...children).get({ slot: "parts", key })?.metadata.name;

  test("is the one that has it", () => {
    expect(get("1", child("a", { ...ours, key: "2" }), child("b", { ...ours, key: "1" }))).toBe("b");
    expect(get("3", child("a", { ...ours, key: "2" }))).toBeUndefined();
    expect(get("", child("a", ours))).toBe("a");
  });

  test("of several, is the one with the name that it should have, else one that stays, else any", () => {
    const two = { ...ours, key: "1" };
    expect(get("1", child("a", two), child("web-1", two))).toBe("web-1");
    expect(get("1", child("a", { ...two, deleting: true }), child("b", two))).toBe("b");
    expect(get("1", child("a", { ...two, deleting: true }), child("web-1", { ...two, deleting: true }))).toBe(
      "web-1",
    );
    expect(get("1", child("a", { ...two, deleting: true }), child("b", { ...two, deleting: true }))).toBe(
      "a",
    );
  });

  test("in a table, in the order of keys", () => {
    const children = seen(
      child("a", { ...ours, key: "2" }),
      child("b", { ...ours, key: "1" }),
      child("c", { ...ours, key: "1" }),
      child("web-1", { ...ours, key: "1" }),
    );
    const entries = [...children.entries("parts")].map(([key, each]) => [key, each.metadata.name]);
    expect(entries).toEqual([
      ["1", "web-1"],
      ["2", "a"],
    ]);
  });
});

test("what is seen of all children is named by their versions", () => {
  const [a, b] = [child("a", ours), child("b", { slot: "kept", named: "web" })];
  expect(seen(b, a).versions()).toBe("uid-a@1,uid-b@1");
  expect(seen(a, b).versions()).toBe(seen(b, a).versions());
  expect(seen(child("a", { ...ours, version: "2" }), b).versions()).not.toBe(seen(a, b).versions());
  expect(seen().versions()).toBe("");
});

test("what has no slot is nobody's child", () => {
  const { metadata } = child("a", ours);
  expect(ownerIndexValues({ metadata: { ...metadata, labels: {} } } as unknown as Stored)).toEqual([]);
  expect(ownerIndexValues(child("a", { ...ours, key: "1" }))).toEqual(["uid/u1|parts", "uid/u1|parts|1"]);
  expect(objectKey(child("a"))).toBe("shop/a");
});
