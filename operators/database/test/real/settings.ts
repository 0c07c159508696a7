/**
 * Takes a real PostgreSQL through what users may choose for it and what may happen to its processes, and prints what came
 * of it as JSON: `node settings.ts PROGRAMS DIRECTORY`. PostgreSQL wants an ordinary user.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { builtInVersions, findMismatches, rebuild, recordVersions } from "../../src/agent/collations.ts";
import { PgClient } from "../../src/engine/pg-client.ts";
import { rows, Setting } from "./setting.ts";

const [programs = "", base = ""] = process.argv.slice(2);
const setting = new Setting({ programs, base, location: { directory: join(base, "store") } });
const primary = { epoch: 1, synchronousNames: "" };
const first = await setting.instance("first", { archives: false });
const { engine } = first;
const choose = async (parameters: Readonly<{ [name: string]: string }>) =>
  await engine.configure({ parameters, floors: {}, closed: false });

await engine.initialise();

/** What a standby says of itself once it answers. */
async function standby(): Promise<string> {
  await engine.startStandby(undefined);
  for (let tries = 0; tries < 100; tries++) {
    const { server, inRecovery } = await engine.inspect();
    if (server === "stopped" || (server === "running" && (await engine.position())))
      return `${server} ${inRecovery}`;
    await sleep(100);
  }
  return "silent";
}

await choose({ default_transaction_isolation: "serializable" });
const serializable = await standby();
await choose({});
await engine.stop("fast");

await choose({ default_transaction_read_only: "on", max_connections: "300" });
await engine.startPrimary(primary);
const readOnly = await engine.replication().then(
  () => "prepared",
  (error: Error) => error.message,
);
await choose({ max_connections: "300" });
await engine.query("CREATE TABLE items AS SELECT generate_series(1, 1000) AS id");
const backup = await setting.taken(first);

/** pg_upgrade keeps no version of a collation that came with PostgreSQL: as if it had been another one before. */
async function collations(): Promise<{ found: string[]; rebuilt: number; left: number }> {
  const ask = engine.queryAside.bind(engine);
  const set = async (version: string) =>
    await ask(`UPDATE pg_collation SET collversion = ${version} WHERE collname IN ('en-x-icu', 'de-x-icu')`);
  await ask('CREATE TABLE people (name text COLLATE "en-x-icu")');
  await ask("CREATE INDEX people_name ON people (name)");
  await set("'1.2'");
  const known = await builtInVersions(ask);
  await set("pg_collation_actual_version(oid)");
  await recordVersions(ask, known);
  const found = await findMismatches(ask);
  const rebuilt = await rebuild(ask, found);
  const left = (await findMismatches(ask)).length;
  return { found: found.flatMap((each) => each.collations), rebuilt, left };
}
const collated = await collations();

/** Only the postmaster is killed; a session that is busy does not notice. */
async function orphan(): Promise<{ client: string; server: string }> {
  const pid = Number((await readFile(join(first.directory, "pgdata/postmaster.pid"), "utf8")).split("\n")[0]);
  const host = join(first.directory, "run");
  await using client = await PgClient.connect({ host, port: 5432, user: "postgres", database: "postgres" });
  const busy = "DO $$ BEGIN FOR i IN 1..1e8 LOOP PERFORM i; END LOOP; END $$; INSERT INTO items VALUES (0)";
  const answer = client.query(busy, { timeoutMs: 250_000 }).then(
    () => "acknowledged",
    () => "ended",
  );
  const isBusy = "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO $$%'";
  while ((await engine.query(isBusy)).length === 0) await sleep(20);
  process.kill(pid, "SIGKILL");
  while (engine.isRunning) await sleep(10);
  const ended = await answer;
  await engine.startPrimary(primary).catch(() => undefined);
  while ((await engine.inspect()).server === "starting") await sleep(100);
  return { client: ended, server: (await engine.inspect()).server };
}
const orphaned = await orphan();
const left = await rows(first);

await engine.stop("fast");
await choose({});
const lowered = await standby();
await engine.stop("fast");
const second = await setting.instance("second", { restored: {} });
const restored = await second.engine.initialise().then(
  async () => {
    await second.engine.startPrimary({ ...primary, epoch: 2 });
    const found = await rows(second);
    await second.engine.stop("fast");
    return found;
  },
  (error: Error) => error.message,
);
console.log(
  `RESULT ${JSON.stringify({ serializable, readOnly, backup, collated, orphaned, left, lowered, restored })}`,
);
process.exit(0);
