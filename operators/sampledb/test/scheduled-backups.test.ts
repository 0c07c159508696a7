/** Backups by schedule at the level of the operator: what is reported, what is kept, and what comes after a pause. */
import { expect, test } from "vitest";
import { backupsIn, change, type RedisWorld } from "./explore/database.ts";
import type { Archive } from "./explore/files.ts";
import { scenario } from "./explore/happenings.ts";

const schedule = "* * * * *";

function scheduled(world: RedisWorld, phase = "Done"): readonly string[] {
  const found = backupsIn(world).filter(({ status }) => status?.phase === phase);
  return found.map(({ metadata }) => metadata.name).sort();
}

/** What lies in the store, by name. */
function stored({ simulation }: RedisWorld): number {
  const archives = [...simulation.volumes.all.values()].filter(({ data }) => data instanceof Map);
  return archives.reduce((sum, { data }) => sum + (data as Archive).size, 0);
}

function events({ stored: objects }: RedisWorld): readonly string[] {
  const found = objects.list("events", "default") as unknown as {
    type?: string;
    reason?: string;
    note?: string;
  }[];
  return found.map(({ type, reason }) => `${type} ${reason}`);
}

test("a store that does not answer is a condition and an event, and both end with the next good backup", {
  timeout: 120_000,
}, async () => {
  const isHealthy = (world: RedisWorld) => world.condition("BackupHealthy");
  await scenario("a replica", [
    [
      1_000,
      async (world) => {
        expect(isHealthy(world)).toMatchObject({ status: "Unknown", reason: "NoSchedule" });
        await change(world, { backup: { schedule, keep: 2 } });
      },
    ],
    [
      150_000,
      (world) => {
        expect(isHealthy(world)).toMatchObject({ status: "True", reason: "Verified" });
        world.application.storeDown = true;
      },
    ],
    [
      300_000,
      (world) => {
        expect(isHealthy(world)).toMatchObject({ status: "False" });
        expect(scheduled(world, "Failed").length).toBeGreaterThan(0);
        expect(events(world)).toContain("Warning BackupFailed");
        // The database itself is well.
        expect(world.isReady).toBe(true);
        world.application.storeDown = false;
      },
    ],
    [420_000, (world) => expect(isHealthy(world)).toMatchObject({ status: "True", reason: "Verified" })],
    [421_000, async (world) => await change(world, { backup: { schedule: null } })],
  ]);
});

test("as many as the spec says are kept, and after a pause of the operator one is taken for all that were due", {
  timeout: 120_000,
}, async () => {
  let before: readonly string[] = [];
  await scenario("a replica", [
    [1_000, async (world) => await change(world, { backup: { schedule, keep: 2 } })],
    [
      310_000,
      (world) => {
        // Twenty seconds after a full minute, when none runs.
        before = scheduled(world);
        expect(before).toHaveLength(2);
        expect(stored(world)).toBe(2);
        for (const manager of world.simulation.cluster.managers) manager.pause();
      },
    ],
    [
      610_000,
      (world) => {
        expect(scheduled(world)).toEqual(before);
        for (const manager of world.simulation.cluster.managers) manager.resume();
      },
    ],
    [
      618_000,
      (world) => {
        const taken = backupsIn(world).filter(({ metadata }) => !before.includes(metadata.name));
        expect(taken).toHaveLength(1);
      },
    ],
    [619_000, async (world) => await change(world, { backup: { schedule: null } })],
    [
      640_000,
      (world) => {
        expect(scheduled(world)).toHaveLength(2);
        expect(scheduled(world)[0]).toBe(before[1]);
        expect(stored(world)).toBe(2);
      },
    ],
  ]);
});
