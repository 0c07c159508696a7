/** A gigabyte that is deleted with a last snapshot, and restored from it. */
import { eventually } from "../../operator/eventually.ts";
import { over, type Scenario } from "../scenario.ts";

const megabytes = 1_024;
const limitMs = 60_000;

export const gigabyte: Scenario = {
  id: "gigabyte",
  fault: "1 GB: deleted with a last snapshot, then restored from it",
  goal: "≤ 60 s each",
  runs: 3,
  fresh: true,
  spec: { replicas: 0, onDelete: "Snapshot", storage: { size: "4Gi" } },
  run: async (bench) => {
    const { world, name } = bench;
    await bench.load.stop();
    await world.fill(name, megabytes);
    const deletedAt = performance.now();
    await world.remove(name, 300_000);
    const snapshot = performance.now() - deletedAt;
    const backup = await world.lastSnapshot(name);
    const restoredAt = performance.now();
    await world.create(name, {
      replicas: 0,
      onDelete: "Delete",
      storage: { size: "4Gi" },
      restoreFrom: { backup: backup.name, allowUnverified: false, request: "" },
    });
    await eventually(
      "it is restored",
      300_000,
      async () => (await world.get(name)).status?.restore?.phase === "Done" && (await world.isReady(name)),
      async () => await world.told(name),
    );
    const restore = performance.now() - restoredAt;
    const keys = (await world.get(name)).status?.restore?.keys ?? 0;
    const figures = { "last snapshot, verified, and gone": snapshot, "restored and ready": restore };
    const missed = over(figures, {
      "last snapshot, verified, and gone": limitMs,
      "restored and ready": limitMs,
    });
    return {
      figures,
      missed: keys >= megabytes ? missed : [...missed, `${keys} keys of ${megabytes} were restored`],
    };
  },
};
