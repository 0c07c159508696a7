/** The garbage collector under every order of events that chance comes up with, and under some that it seldom does. */
import type { AnyKind, OwnerReference, Stored } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GarbageWorld, kinds } from "./garbage-world.ts";

const [root, branch] = kinds as [AnyKind, AnyKind];
const seeds = fc.integer({ min: 0, max: 0x7fffffff });

describe("what its owners left", () => {
  test("is collected and nothing else, in whatever order news and answers come", async () => {
    await fc.assert(
      fc.asyncProperty(seeds, fc.integer({ min: 10, max: 200 }), async (seed, steps) => {
        using world = new GarbageWorld(seed);
        await world.live(steps);
        await world.comesToRest();
        expect(world.garbage).toEqual([]);
        expect(world.mistakes).toEqual([]);
        const left = [...world.objects.values()];
        expect(left.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  test("is collected when the owner came and went while its watch was broken", async () => {
    using world = new GarbageWorld(1);
    world.create(branch, "b", [reference(world.create(root, "a"))]);
    world.tell(branch);
    await world.answer();
    world.delete(root, "a");
    world.gap(root);
    await world.comesToRest();
    expect([...world.objects.keys()]).toEqual([]);
  });

  test("is collected when another took the owner's name while its watch was broken", async () => {
    using world = new GarbageWorld(1);
    world.create(branch, "b", [reference(world.create(root, "a"))]);
    world.tell(root);
    world.tell(branch);
    world.delete(root, "a");
    world.create(root, "a");
    world.gap(root);
    await world.comesToRest();
    expect([...world.objects.keys()]).toEqual(["Root/a"]);
  });

  test("is collected when the owner's kind went with it, so that nobody can be asked", async () => {
    using world = new GarbageWorld(1);
    world.create(branch, "b", [reference(world.create(root, "a"))]);
    world.tell(root);
    world.tell(branch);
    world.withdraw(root);
    world.delete(root, "a");
    await world.comesToRest();
    expect([...world.objects.keys()]).toEqual([]);
  });

  test("is collected when the reference names another than its UID does", async () => {
    using world = new GarbageWorld(1);
    world.create(branch, "b", [{ ...reference(world.create(root, "a")), name: "other" }]);
    await world.comesToRest();
    expect([...world.objects.keys()]).toEqual(["Root/a"]);
  });
});

function reference({ apiVersion, kind, metadata: { name, uid } }: Stored): OwnerReference {
  return { apiVersion, kind, name, uid };
}
