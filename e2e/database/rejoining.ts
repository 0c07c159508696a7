/** Instances whose data does not go with the primary's any more, and that must come back without a person. */
import { eventually } from "../operator/eventually.ts";
import type { Scenario } from "./scenarios.ts";
import { namespace, type World } from "./world.ts";

const ref = (name: string) => ({ namespace, name });

async function cutOff(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await world.inject({ kind: "cut", pod: ref(name), direction: "both" });
}

async function reconnect(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await world.inject({ kind: "mend", pod: ref(name) });
}

/** The primary has log that nobody else has; it is frozen, the others elect one of them, and it comes back. */
const diverged: Scenario = {
  id: "diverged",
  fault: "a primary comes back whose log went another way",
  goal: "rejoined within 60 s, without a person",
  runs: 5,
  gapMs: 60_000,
  healMs: 60_000,
  spec: { version: "15", instances: 3, storage: { size: "2Gi" } },
  run: async ({ world, name, ledger }) => {
    const primary = await world.primary(name);
    const others = world
      .instances(name)
      .map((each) => each.name)
      .filter((each) => each !== primary);
    await world.sql(name, "CREATE TABLE mine (id int)");
    await cutOff(world, others);
    // Acknowledged by nobody but the primary itself, as the client asked for.
    await world.sql(
      name,
      "SET synchronous_commit = local; INSERT INTO mine SELECT generate_series(1, 100000)",
      { timeoutMs: 10_000 },
    );
    await world.inject({ kind: "freeze", pod: ref(primary), frozen: true });
    await reconnect(world, others);
    await eventually("another instance is primary", 60_000, async () => {
      const { status } = await world.get(name);
      return status?.primary !== undefined && status.primary !== primary;
    });
    await ledger.acknowledgedSince(ledger.now, 30_000);
    return async () => await world.inject({ kind: "freeze", pod: ref(primary), frozen: false });
  },
  check: async ({ world, name }, before) => {
    const problems: string[] = [];
    const counts = await world.everywhere(name, "SELECT count(*) AS n FROM mine");
    if (counts.some((row) => row["n"] !== "0"))
      problems.push(`the log of ${before.primary} was not undone: ${JSON.stringify(counts)}`);
    return problems;
  },
};

/** A replica is away for so long that the primary has thrown away what it needs. */
const walGone: Scenario = {
  id: "wal-gone",
  fault: "a replica comes back and the primary no longer has the log that it needs",
  goal: "no gap; cloned again within 60 s",
  runs: 5,
  gapMs: 5_000,
  healMs: 60_000,
  spec: {
    version: "15",
    instances: 3,
    storage: { size: "2Gi" },
    parameters: { wal_keep_size: "0", min_wal_size: "32MB", max_wal_size: "48MB" },
  },
  run: async ({ world, name }) => {
    const replica = await world.replica(name);
    const before = world.pod(replica)?.metadata.uid;
    await cutOff(world, [replica]);
    for (let round = 0; round < 8; round++) {
      await world.sql(
        name,
        `CREATE TABLE filler_${round} AS SELECT i, repeat(md5(i::text), 20) AS text FROM generate_series(1, 25000) i; DROP TABLE filler_${round}`,
        { timeoutMs: 60_000 },
      );
    }
    return async () => {
      await reconnect(world, [replica]);
      await eventually(`${replica} was cloned`, 60_000, async () =>
        (await world.logOf(replica)).includes("no longer has the log"),
      );
      if (world.pod(replica)?.metadata.uid !== before) throw new Error(`the pod of ${replica} was replaced`);
    };
  },
};

export const rejoining: readonly Scenario[] = [diverged, walGone];
