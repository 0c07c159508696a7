/** Data that is lost: of one member, of most, of all. */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdBackup, EtcdBackupSchedule } from "@keelson/etcd-operator";
import type { ObjectOf } from "keelson";
import { PersistentVolumeClaim } from "keelson/kinds";
import { eventually } from "../../operator/eventually.ts";
import { type Bench, over, type Scenario } from "../bench.ts";
import { namespace } from "../cluster-access.ts";
import { heal } from "./heal.ts";

/** A member loses its data, is replaced by another, and no client ever sees an empty cluster. */
function dataLost(damage: "wipe" | "corrupt"): Scenario["run"] {
  return async (bench, nth) => {
    const name = await bench.restarted(nth % 2 === 0 ? "Follower" : "Leader", 0);
    const guard = bench.world.guard(bench.name, bench.load.key(0));
    const run = await heal(bench, {
      disturb: async () => await bench.world.damage(name, damage),
      healed: async () => !(await bench.members()).includes(name) && (await bench.isReady()),
      limits: { healed: 60_000 },
      sameMembers: false,
    });
    const empty = await guard.stop();
    const counts = { "reads that saw an empty keyspace": empty };
    return {
      ...run,
      counts,
      missed: [...run.missed, ...(empty > 0 ? ["an empty keyspace was served"] : [])],
    };
  };
}

export const volumeWiped: Scenario = {
  id: "wiped",
  fault: "volume of a member wiped (followers and leaders alternating)",
  goal: "≤ 60 s, never serves an empty keyspace",
  runs: 10,
  size: 3,
  run: dataLost("wipe"),
};

export const volumeCorrupted: Scenario = {
  id: "corrupted",
  fault: "volume of a member corrupted (followers and leaders alternating)",
  goal: "≤ 60 s, never serves an empty keyspace",
  runs: 10,
  size: 3,
  run: dataLost("corrupt"),
};

/** The survivor is cut off first, so that the others acknowledge what it never hears of: a loss that is one. */
export const majorityLost: Scenario = {
  id: "majority",
  fault: "majority of volumes lost, and with them writes that the survivor had not seen",
  goal: "refused to guess; after approval ≤ 2 min, loss reported",
  runs: 3,
  size: 3,
  fresh: true,
  run: async (bench) => {
    const { world, name, load } = bench;
    const [left = "", ...victims] = await bench.members();
    await world.inject({ kind: "cut", pod: bench.pod(left), direction: "both" });
    await sleep(4_000);
    const since = load.ledger.now;
    await Promise.all(victims.map(async (victim) => await world.damage(victim, "wipe")));
    await world.inject({ kind: "mend", pod: bench.pod(left) });
    await bench.time("a survivor is proposed", 180_000, async () => {
      const { status } = await world.get(name);
      return status?.recovery?.phase === "Proposed";
    });
    const proposed = load.ledger.now - since;
    const { status } = await world.get(name);
    const { survivor = "", revision = "0", lost = "" } = status?.recovery ?? {};
    const missed: string[] = [];
    if (survivor !== left) missed.push(`${survivor} was proposed, and only ${left} has data`);
    if (!lost.includes(`revision ${revision}`)) missed.push(`the loss was told as ${JSON.stringify(lost)}`);
    const waitsFrom = load.ledger.now;
    await sleep(10_000);
    const waited = (await world.get(name)).status?.recovery?.phase;
    if (waited !== "Proposed" || load.ledger.summary(waitsFrom).acknowledged > 0)
      missed.push("it did not wait for approval");
    const gone = load.ledger.acknowledgedAbove(BigInt(revision)).count;
    load.ledger.recoveredFrom(BigInt(revision));
    const approvedAt = load.ledger.now;
    await world.annotate(name, { "etcd.keelson.dev/approve-recovery": `${survivor}@${revision}` });
    await load.ledger.acknowledgedSince(approvedAt);
    const serving = load.ledger.now - approvedAt;
    await bench.time("three members serve", 180_000, async () => await bench.isReady());
    const figures = {
      "survivor proposed": proposed,
      "writes after approval": serving,
      "3/3 after approval": load.ledger.now - approvedAt,
    };
    const counts = { "acknowledged writes above the reported revision, gone as told": gone };
    return { figures, counts, missed: [...missed, ...over(figures, { "3/3 after approval": 120_000 })] };
  },
};

const scheduleMs = 60_000;
const megabytes = 100;
const store = { claim: { name: "backups", path: "" } };

export const everythingLost: Scenario = {
  id: "restore",
  fault: `everything lost, restore of ${megabytes} MB from the last scheduled backup`,
  goal: "≤ 2 min, RPO = schedule (every minute)",
  runs: 3,
  size: 3,
  fresh: true,
  prepare: async ({ world, name }) => {
    await world.fill(name, megabytes);
    const claims = world.client.kind(PersistentVolumeClaim);
    if (!(await claims.find({ namespace, name: "backups" }))) {
      const resources = { requests: { storage: "10Gi" } };
      const spec = { accessModes: ["ReadWriteOnce" as const], resources };
      await claims.create({ metadata: { namespace, name: "backups" }, spec });
    }
    await world.client.kind(EtcdBackupSchedule).create({
      metadata: { namespace, name },
      spec: { cluster: name, schedule: "* * * * *", store, keep: { count: 2 } },
    });
  },
  run: async (bench) => {
    const { world, name, load, version } = bench;
    await bench.time(
      "a scheduled backup is proven",
      240_000,
      async () => (await newest(bench)) !== undefined,
    );
    await nextDue();
    const chosen = await newest(bench);
    const faultAt = load.ledger.now;
    await Promise.all((await bench.members()).map(async (member) => await world.damage(member, "wipe")));
    await bench.time("the loss is told", 120_000, async () => {
      const { status } = await world.get(name);
      return status?.conditions?.some(({ message }) => message.includes("spec.restoreFrom")) ?? false;
    });
    const told = load.ledger.now - faultAt;
    const revision = BigInt(chosen?.status?.revision ?? 0);
    const lost = load.ledger.acknowledgedAbove(revision);
    const restoreAt = load.ledger.now;
    await world.remove(name);
    load.ledger.recoveredFrom(revision);
    const { size } = everythingLost;
    await world.create(name, { size, version, restoreFrom: restoreFrom(chosen?.metadata.name ?? "") });
    await load.ledger.acknowledgedSince(restoreAt);
    const serving = load.ledger.now - restoreAt;
    await bench.time("three members serve", 180_000, async () => await bench.isReady());
    const figures = {
      "loss told": told,
      "writes after the decision to restore": serving,
      "3/3 after the decision to restore": load.ledger.now - restoreAt,
      "acknowledged writes lost reach back": lost.firstMs === undefined ? 0 : faultAt - lost.firstMs,
    };
    const counts = { "MB in the backup": Math.round(Number(chosen?.status?.sizeBytes ?? 0) / 1e6) };
    const missed = over(figures, {
      "3/3 after the decision to restore": 120_000,
      "acknowledged writes lost reach back": scheduleMs,
    });
    if (counts["MB in the backup"] < megabytes) missed.push("the backup is smaller than what was written");
    return { figures, counts, missed };
  },
  conclude: async ({ world, name }) => {
    await world.client.kind(EtcdBackupSchedule).delete({ namespace, name });
  },
};

function restoreFrom(backup: string) {
  return { backup, bumpRevisions: 1_000_000_000, allowUnverified: false };
}

/** The last one that counts. */
async function newest({ world, name }: Bench): Promise<ObjectOf<typeof EtcdBackup> | undefined> {
  const { items } = await world.client.kind(EtcdBackup).list({ namespace });
  return items
    .filter(({ spec, status }) => spec.cluster === name && status?.phase === "Done")
    .sort((a, b) => ((a.status?.takenAt ?? "") < (b.status?.takenAt ?? "") ? 1 : -1))[0];
}

/** The worst moment: right before the next backup is due. */
async function nextDue(): Promise<void> {
  await eventually("the minute is almost over", 61_000, async () => {
    const secondsMs = Date.now() % scheduleMs;
    return secondsMs > 52_000 && secondsMs < 56_000;
  });
}
