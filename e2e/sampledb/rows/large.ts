/** A database that is deleted with a last snapshot, and restored from it: a small one, and one of a gigabyte. */
import { over, type Scenario } from "../scenario.ts";

interface Size {
  readonly id: string;
  readonly what: string;
  readonly megabytes: number;
  readonly storage: string;
  /** Of each of the two. */
  readonly limitMs?: number;
}

function snapshotAndRestore({ id, what, megabytes, storage, limitMs }: Size): Scenario {
  const place = { replicas: 0, storage: { size: storage } };
  return {
    id,
    fault: `${what}: deleted with a last snapshot, then restored from it`,
    goal: limitMs === undefined ? "every key is there" : `≤ ${limitMs / 1_000} s each`,
    runs: 3,
    fresh: true,
    spec: { ...place, onDelete: "Snapshot" },
    run: async (bench) => {
      const { world, name } = bench;
      await bench.load.stop();
      await world.fill(name, megabytes);
      const deletedAt = performance.now();
      await world.remove(name, 300_000);
      const snapshot = performance.now() - deletedAt;
      const restoredAt = performance.now();
      await world.restoreLast(name, place);
      const restore = performance.now() - restoredAt;
      const keys = (await world.get(name)).status?.restore?.keys ?? 0;
      const wanted = megabytes + bench.load.keys;
      const figures = { "last snapshot, verified, and gone": snapshot, "restored and ready": restore };
      const limits = Object.fromEntries(
        Object.keys(figures).map((figure) => [figure, limitMs ?? Number.POSITIVE_INFINITY]),
      );
      const missed = over(figures, limits);
      return {
        figures,
        missed: keys >= wanted ? missed : [...missed, `${keys} keys of ${wanted} were restored`],
      };
    },
  };
}

export const restored: Scenario = snapshotAndRestore({
  id: "restored",
  what: "10 MB",
  megabytes: 10,
  storage: "1Gi",
});

export const gigabyte: Scenario = snapshotAndRestore({
  id: "gigabyte",
  what: "1 GB",
  megabytes: 1_024,
  storage: "4Gi",
  limitMs: 60_000,
});
