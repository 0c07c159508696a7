import { objectKey, type Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import type { InventoryEntry } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import type { Informer } from "../cache/informer.ts";
import type { Controller } from "../controller/controller.ts";
import { isOrphaned } from "./marks.ts";

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
  test("if the garbage collector is still to release them", () =>
    expect(orphaned([child("settings", [ours])], [], ["orphan"])).toBe(true));
  test("not if they are deleted before it, whatever is left of an earlier owner", () =>
    expect(orphaned([child("settings")], [entry("settings")], ["foregroundDeletion"])).toBe(false));
});
