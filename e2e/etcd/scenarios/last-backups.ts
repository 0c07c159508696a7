/** Clusters that are deleted with a final backup in states in which that once was never taken. */
import { EtcdBackup, EtcdCluster } from "@keelson/etcd-operator";
import { PersistentVolumeClaim, Service } from "keelson/kinds";
import { type Bench, over, type Run, type Scenario } from "../bench.ts";
import { namespace } from "../cluster-access.ts";
import { watchStatements } from "../watch.ts";
import { trueStatus } from "./compound-row.ts";

const goneMs = 120_000;
const vault = { namespace, name: "last-words" };

interface LastBackup extends Pick<Scenario, "id" | "fault"> {
  /** What comes before the deletion. */
  readonly happen: (bench: Bench) => Promise<void>;
  readonly propagation: "Background" | "Foreground";
}

function lastBackup({ happen, propagation, ...row }: LastBackup): Scenario {
  const run = async (bench: Bench): Promise<Run> => {
    const { world, name, load } = bench;
    await using watch = watchStatements(bench);
    await happen(bench);
    const since = load.ledger.now;
    await world.client.kind(EtcdCluster).delete({ namespace, name }, { propagation });
    await bench.time("the cluster is gone", 2 * goneMs, async () => await world.isGone(name));
    const figures = { gone: load.ledger.now - since };
    const missed = over(figures, { gone: goneMs });
    const { items } = await world.client.kind(EtcdBackup).list({ namespace });
    const taken = items.find(({ spec }) => spec.cluster === name);
    if (taken?.status?.phase !== "Done" || taken.status.verifiedAt === undefined)
      missed.push(`the final backup is ${taken?.status?.phase ?? "not there"}`);
    // The row ends with a cluster, as every row does: it continues from the volumes that were kept.
    await world.create(name, { size: 3, version: bench.version });
    await bench.ready(3, 180_000);
    await bench.settle();
    return { figures, missed: [...missed, ...(await watch.stop())] };
  };
  return {
    ...row,
    goal: `a verified backup, and gone in ≤ 2 min; made again it continues with 0 lost, ${trueStatus}`,
    runs: 1,
    size: 3,
    fresh: true,
    spec: { deletion: { volumes: "Keep", finalBackup: { claim: { name: vault.name } } } as never },
    before: async ({ client }) => {
      if (await client.kind(PersistentVolumeClaim).find(vault)) return;
      await client.kind(PersistentVolumeClaim).create({
        metadata: vault,
        spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "4Gi" } } },
      });
    },
    run,
  };
}

export const lastBackups: readonly Scenario[] = [
  lastBackup({
    id: "lasthibernated",
    fault: "deleted with a final backup while it hibernates",
    propagation: "Background",
    happen: async (bench) => {
      await bench.world.change(bench.name, { hibernate: true });
      await bench.time(
        "it hibernates",
        60_000,
        async () => (await bench.world.pods(bench.name)).length === 0,
      );
    },
  }),
  lastBackup({
    id: "lastservice",
    fault: "its client Service deleted by hand, then deleted in the foreground with a final backup",
    propagation: "Foreground",
    happen: async ({ world, name }) =>
      void (await world.client.kind(Service).delete({ namespace, name: `${name}-client` })),
  }),
];
