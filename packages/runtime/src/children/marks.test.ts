import { objectKey, type Stored } from "@keelson/core";
import { ConfigMap, Namespace } from "@keelson/core/kinds";
import type { InventoryEntry } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import type { Informer } from "../cache/informer.ts";
import type { Controller } from "../controller/controller.ts";
import { inPlace, isOrphaned, lostMeanwhile, missingChildren, restoreMarks } from "./marks.ts";
import type { OwnedChildren } from "./owned-children.ts";

const controller = {
  owns: {
    settings: { kind: ConfigMap, options: {} },
    backup: { kind: ConfigMap, options: { outlives: true } },
  },
} as unknown as Controller;
const entry = (slot: string): InventoryEntry => ({ slot, name: slot, uid: slot }) as InventoryEntry;
const child = (name: string, owners: object[] = []) =>
  ({ metadata: { namespace: "shop", name, uid: name, ownerReferences: owners } }) as unknown as Stored;
const ours = { controller: true };

function orphaned(
  children: readonly Stored[],
  inventory = children.map(({ metadata }) => entry(metadata.name)),
  finalizers: readonly string[] = [],
) {
  const cache = new Map(children.map((each) => [objectKey(each), each]));
  const informer = { cache } as unknown as Informer;
  const owner = {
    metadata: { namespace: "shop", name: "web", uid: "1", finalizers },
    status: { inventory },
  } as unknown as Stored;
  const informers = new Map(["settings", "backup"].map((slot) => [slot, informer]));
  return isOrphaned(controller, owner, informers);
}

describe("an owner that goes was deleted with --cascade=orphan", () => {
  test("if its children are there without an owner", () => expect(orphaned([child("settings")])).toBe(true));
  test("not if they still have one", () => expect(orphaned([child("settings", [ours])])).toBeUndefined());
  test("not if they are gone", () => expect(orphaned([], [entry("settings")])).toBeUndefined());
  test("not because of a child that outlives its owner, and never had one", () =>
    expect(orphaned([child("backup")])).toBeUndefined());
  test("not because of a child of a slot that is no longer declared", () =>
    expect(orphaned([child("removed")])).toBeUndefined());
  test("not because of another object of that name", () =>
    expect(orphaned([child("settings")], [{ ...entry("settings"), uid: "2" }])).toBeUndefined());
  test("not if they are deleted before it, whatever is left of an earlier owner", () =>
    expect(orphaned([child("settings")], [entry("settings")], ["foregroundDeletion"])).toBe(false));
});

test("an owner of the cluster was deleted with --cascade=orphan: its finalizer says so", () => {
  const owner = { metadata: { name: "web", uid: "1", finalizers: ["x", "orphan"] } } as unknown as Stored;
  expect(isOrphaned(controller, owner, new Map())).toBe(true);
  expect(
    isOrphaned(controller, { metadata: { name: "web", uid: "1" } } as Stored, new Map()),
  ).toBeUndefined();
});

describe("what the inventory names and the cache does not show", () => {
  const owner = (...inventory: object[]) =>
    ({ metadata: { name: "web", uid: "1" }, status: { inventory } }) as unknown as Stored;
  const children = {
    get: ({ slot, key }: { slot: string; key: string }) => ({ metadata: { uid: `${slot}/${key}` } }),
  };
  const missing = (...inventory: object[]) =>
    missingChildren(controller, owner(...inventory), children as unknown as OwnedChildren).map(
      ({ uid }) => uid,
    );

  test("is missing, but for slots that are not declared any more", () => {
    expect(
      missing({ slot: "settings", uid: "settings/" }, { slot: "settings", key: "1", uid: "settings/1" }),
    ).toEqual([]);
    expect(missing({ slot: "settings", uid: "x" }, { slot: "removed", uid: "y" })).toEqual(["x"]);
    const bare = { metadata: { name: "web", uid: "1" } } as Stored;
    expect(missingChildren(controller, bare, children as unknown as OwnedChildren)).toEqual([]);
  });
});

describe("marks are put back", () => {
  const labels = { "keelson.dev/controller": "site", "keelson.dev/slot": "settings" };
  const owned = [{ uid: "1", controller: true }];
  const stored = (change: object = {}, kind = "ConfigMap") =>
    ({
      kind,
      metadata: {
        name: "settings",
        namespace: "shop",
        uid: "settings",
        labels,
        ownerReferences: owned,
        ...change,
      },
    }) as unknown as Stored;
  const reference = {
    ...{ apiVersion: "example.com/v1", kind: "Site", name: "web", uid: "1" },
    ...{ controller: true, blockOwnerDeletion: true },
  };

  interface Asked {
    readonly live?: Stored | undefined;
    readonly slot?: string;
    readonly key?: string;
    readonly owner?: object;
    /** What is there of the owner by now. */
    readonly ownerNow?: Stored | undefined;
  }

  async function restored(asked: Asked = {}) {
    const { live, slot = "settings", key, owner: change = {} } = asked;
    const owner = { metadata: { name: "web", namespace: "shop", uid: "1", ...change } } as unknown as Stored;
    const ownerNow = "ownerNow" in asked ? asked.ownerNow : owner;
    const sent: { ref: object; body: { metadata: object } }[] = [];
    const looked: object[] = [];
    const client = {
      kind: ({ kind }: { kind: string }) => ({
        find: async (ref: object) => {
          if (kind === "Site") return ownerNow;
          looked.push(ref);
          return live;
        },
        patch: async (ref: object, { body }: { body: { metadata: object } }) => void sent.push({ ref, body }),
      }),
    };
    const site = {
      name: "site",
      kind: { group: "example.com", version: "v1", kind: "Site", scope: "Namespaced" },
      owns: {
        settings: { kind: ConfigMap, options: {} },
        backup: { kind: ConfigMap, options: { outlives: true } },
        home: { kind: Namespace, options: { outlives: true } },
      },
    } as unknown as Controller;
    const recorded = {
      ...entry(slot),
      name: "settings",
      uid: "settings",
      ...(key === undefined ? {} : { key }),
    };
    const gone = await restoreMarks(
      {
        controller: site,
        owner,
        client: client as never,
        fieldManager: "m",
        signal: new AbortController().signal,
      },
      [recorded],
    );
    return { gone: gone.length > 0, looked, metadata: sent[0]?.body.metadata };
  }

  test("where someone took labels or the owner away, and nowhere else", async () => {
    expect(await restored({ live: stored() })).toMatchObject({ gone: false, metadata: undefined });
    expect(await restored({ live: stored({ labels: { app: "x" } }) })).toEqual({
      gone: false,
      looked: [{ namespace: "shop", name: "settings" }],
      metadata: { uid: "settings", labels: { ...labels, "keelson.dev/key": null } },
    });
    expect(
      await restored({ live: stored({ labels: undefined, ownerReferences: [{ uid: "x" }] }) }),
    ).toMatchObject({
      metadata: { ownerReferences: [reference, { uid: "x" }] },
    });
    expect(await restored({ live: stored({ ownerReferences: undefined }) })).toMatchObject({
      metadata: { ownerReferences: [reference] },
    });
  });

  test("with the key of a slot for many, and without it where there is none", async () => {
    expect((await restored({ live: stored(), key: "1" })).metadata).toEqual({
      uid: "settings",
      labels: { ...labels, "keelson.dev/key": "1" },
    });
    const keyed = stored({ labels: { ...labels, "keelson.dev/key": "1" } });
    expect((await restored({ live: keyed, key: "1" })).metadata).toBeUndefined();
    expect((await restored({ live: keyed })).metadata).toMatchObject({ labels: { "keelson.dev/key": null } });
  });

  test("of a child that outlives its owner: its owner is named by a label", async () => {
    const kept = { ...labels, "keelson.dev/slot": "backup" };
    const live = stored({ labels: kept, ownerReferences: undefined });
    const named = { ...kept, "keelson.dev/owner": "web" };
    expect((await restored({ live, slot: "backup" })).metadata).toEqual({
      uid: "settings",
      labels: { ...named, "keelson.dev/key": null },
    });
    const marked = stored({ labels: named, ownerReferences: undefined });
    expect(await restored({ live: marked, slot: "backup" })).toMatchObject({
      gone: false,
      metadata: undefined,
    });
  });

  test("of a child of the cluster, which is looked up without a namespace", async () => {
    const home = await restored({ live: stored({}, "Namespace"), slot: "home" });
    expect(home.looked).toEqual([{ namespace: undefined, name: "settings" }]);
    expect(home.gone).toBe(false);
  });

  test.each<[string, Asked]>([
    ["is gone", { live: undefined }],
    ["is another one of that name", { live: stored({ uid: "other" }) }],
    ["has another controller", { live: stored({ ownerReferences: [{ uid: "2", controller: true }] }) }],
    [
      "cannot be found, since its owner has no namespace",
      { live: stored(), owner: { namespace: undefined } },
    ],
  ])("not on what %s", async (_, asked) => {
    expect(await restored(asked)).toMatchObject({ gone: true, metadata: undefined });
  });

  test("not for an owner that is going: the garbage collector took it away", async () => {
    const live = stored({ ownerReferences: undefined });
    await expect(restored({ live, ownerNow: undefined })).rejects.toThrow(
      "was deleted while it was reconciled",
    );
    expect(await restored({ live: stored({ labels: {} }), ownerNow: undefined })).toMatchObject({
      gone: false,
    });
  });

  test("beside an owner that is no controller", async () => {
    const both = [{ uid: "2" }, ...owned];
    expect(await restored({ live: stored({ ownerReferences: both }) })).toMatchObject({
      gone: false,
      metadata: undefined,
    });
  });
});

describe("what was recorded", () => {
  const at = (slot: string, uid: string, key?: string) =>
    ({ slot, uid, name: uid, ...(key === undefined ? {} : { key }) }) as InventoryEntry;

  test("stays on record when it is seen no more, unless it is known to be gone", () => {
    const [a, b, c] = [at("settings", "a"), at("settings", "b"), at("settings", "c")];
    expect(lostMeanwhile([], [], () => false)).toEqual([]);
    expect(lostMeanwhile([a, b, c], [a], ({ uid }) => uid === "c")).toEqual([b]);
    expect(lostMeanwhile([a], [at("backup", "a")], () => false)).toEqual([a]);
  });

  test("is put on record where it belongs, when its labels say another place", () => {
    const nowhere = () => undefined;
    const place = (
      recorded: InventoryEntry[],
      seen: InventoryEntry,
      placeOf: (uid: string) => { slot: string; key: string } | undefined = nowhere,
    ) => inPlace(controller, recorded, [seen], placeOf)[0];
    const seen = at("settings", "a", "1");
    expect(place([], seen)).toBe(seen);
    expect(place([at("settings", "a", "1")], seen)).toBe(seen);
    expect(place([at("settings", "a", "2")], seen)).toEqual(at("settings", "a", "2"));
    expect(place([at("backup", "a", "1")], seen)).toEqual(at("backup", "a", "1"));
    expect(place([at("settings", "a")], seen)).toEqual(at("settings", "a"));
    expect(place([at("removed", "a", "1")], seen)).toBe(seen);
    expect(place([at("settings", "a", "1")], seen, () => ({ slot: "backup", key: "" }))).toEqual(
      at("backup", "a"),
    );
    expect(place([at("settings", "a", "2")], seen, () => ({ slot: "settings", key: "1" }))).toBe(seen);
    expect(place([at("settings", "b")], at("settings", "a"))).toEqual(at("settings", "a"));
  });
});
