/** Upgrades that work, that are refused before anybody notices, and that fail half-way. */
import { eventually } from "../operator/eventually.ts";
import type { Bench, Scenario } from "./scenarios.ts";

const spec = { version: "15", instances: 3, storage: { size: "4Gi" } };

async function upgraded(
  { world, name }: Pick<Bench, "world" | "name">,
  phase: "Done" | "Failed",
): Promise<void> {
  await eventually(
    `the upgrade ends as ${phase}`,
    300_000,
    async () => (await world.get(name)).status?.upgrade?.phase === phase,
    async () => JSON.stringify((await world.get(name)).status),
  );
}

/** A collation whose rules change from one release of ICU to the next, and an index by it. */
const collated =
  `CREATE COLLATION german (provider = icu, locale = 'de-u-co-phonebk');` +
  `CREATE TABLE names (name text COLLATE german PRIMARY KEY);` +
  `INSERT INTO names SELECT md5(i::text) FROM generate_series(1, 1000) i`;

const major: Scenario = {
  id: "major",
  fault: "major upgrade of 1 GB, 15 to 17",
  goal: "gap ≤ 60 s",
  runs: 5,
  gapMs: 60_000,
  healMs: 120_000,
  spec,
  prepare: async ({ world, name }) => {
    await world.sql(name, collated);
    await world.sql(
      name,
      "CREATE TABLE filler AS SELECT i AS id, repeat(md5(i::text), 28) AS text FROM generate_series(1, 1000000) i;" +
        "CREATE INDEX ON filler (id)",
      { timeoutMs: 240_000 },
    );
  },
  run: async (bench) => {
    await bench.world.change(bench.name, { version: "17" });
    await upgraded(bench, "Done");
    return undefined;
  },
  check: async ({ world, name }) => {
    const problems: string[] = [];
    const { status } = await world.get(name);
    if (!status?.version?.startsWith("17")) problems.push(`it runs ${status?.version}`);
    const [row] = await world.sql(
      name,
      "SELECT count(*) AS rows, (SELECT count(*) FROM pg_collation WHERE collversion <> pg_collation_actual_version(oid)) AS old FROM filler",
      { timeoutMs: 60_000 },
    );
    if (row?.["rows"] !== "1000000") problems.push(`${row?.["rows"]} rows are left of 1000000`);
    if (row?.["old"] !== "0") problems.push(`${row?.["old"]} collations are of an older version`);
    return problems;
  },
};

const checkFails: Scenario = {
  id: "major-refused",
  fault: "major upgrade whose check fails",
  goal: "no gap, and the condition says why",
  runs: 5,
  gapMs: 3_000,
  healMs: 60_000,
  spec,
  prepare: async ({ world, name }) => void (await world.sql(name, "CREATE TABLE odd (what regproc)")),
  run: async (bench) => {
    const { world, name } = bench;
    await world.change(name, { version: "17" });
    await upgraded(bench, "Failed");
    const condition = (await world.get(name)).status?.conditions?.find(({ type }) => type === "UpToDate");
    if (!condition?.message.includes("odd.what")) throw new Error(`the condition says ${condition?.message}`);
    await world.change(name, { version: "15" });
    return undefined;
  },
};

const upgradeFails: Scenario = {
  id: "major-fails",
  fault: "major upgrade that fails after the primary has stopped",
  goal: "back on the old version within 60 s",
  runs: 5,
  gapMs: 60_000,
  healMs: 120_000,
  spec,
  run: async (bench) => {
    const { world, name } = bench;
    await world.change(name, { version: "17" });
    // What the check refuses comes after the clone for the rehearsal was made, and before the primary stops.
    const senders = async () =>
      Number((await world.sql(name, "SELECT count(*) AS n FROM pg_stat_replication"))[0]?.["n"]);
    await eventually("a clone is made for the rehearsal", 120_000, async () => (await senders()) > 2);
    await eventually("the clone is made", 120_000, async () => (await senders()) === 2);
    await world.sql(name, "CREATE TABLE odd (what regproc)");
    await upgraded(bench, "Failed");
    await world.change(name, { version: "15" });
    return undefined;
  },
  check: async ({ world, name }) => {
    const { status } = await world.get(name);
    return status?.version?.startsWith("15") ? [] : [`it runs ${status?.version}`];
  },
};

export const upgrades: readonly Scenario[] = [major, checkFails, upgradeFails];
