import type { ObjectMeta } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { wereReleased } from "./released.ts";

const owner = { metadata: { uid: "1" } };
const dependent = (uid?: string, more: Partial<ObjectMeta> = {}) => ({
  metadata: {
    name: "child",
    ...(uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Owner", name: "o", uid }] }),
    ...more,
  } as ObjectMeta,
});

describe("dependents were released", () => {
  test("if none has its reference any more", () =>
    expect(wereReleased(owner, [dependent(), dependent("2"), undefined])).toBe(true));
  test("not if a person took the reference off one of them", () =>
    expect(wereReleased(owner, [dependent(), dependent("1")])).toBe(false));
  test("not if they are gone, or go", () =>
    expect(wereReleased(owner, [undefined, dependent(undefined, { deletionTimestamp: "now" })])).toBe(false));
});
