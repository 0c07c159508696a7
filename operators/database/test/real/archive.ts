/**
 * Takes a real PostgreSQL to moments that its archive has, has not yet, and has without a later commit, and fails over from
 * a primary that had not archived everything. Prints what came of it as JSON: `node archive.ts PROGRAMS DIRECTORY`.
 */
import { cp, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "@keelson/kit/store";
import { HorizonKeeper } from "../../src/agent/horizon.ts";
import { archived, type Instance, rows, Setting } from "./setting.ts";

const [programs = "", base = ""] = process.argv.slice(2);
const location = { directory: join(base, "store") };
const setting = new Setting({ programs, base, location });
const first = await setting.instance("first");
const horizon = new HorizonKeeper({
  store: async () => await openStore(location),
  query: async (sql) => await first.engine.query(sql),
});

async function lookAtHorizon(): Promise<void> {
  const systemId = (await first.engine.inspect()).data?.systemId ?? "";
  const { archived: last } = await first.engine.replication();
  await horizon.round({ epoch: 1, systemId, archived: last });
}

/** The server's clock now, and everything before it is committed. */
async function now(): Promise<string> {
  await sleep(1_500);
  return new Date().toISOString();
}

async function restoredTo(name: string, targetTime: string): Promise<number | string> {
  const other = await setting.instance(name, { restored: { targetTime }, archives: false });
  try {
    await other.engine.initialise();
  } catch (error) {
    return (error as Error).message;
  }
  await other.engine.startPrimary({ epoch: 9, synchronousNames: "" });
  const found = await rows(other);
  await other.engine.stop("fast");
  return found;
}

await first.engine.initialise();
await first.engine.startPrimary({ epoch: 1, synchronousNames: "" });
await first.engine.query("CREATE TABLE items AS SELECT generate_series(1, 100) AS id");
await setting.taken(first);
await first.engine.query("INSERT INTO items SELECT generate_series(101, 200)");
await lookAtHorizon();
await archived(first);
await lookAtHorizon();
await first.engine.query("INSERT INTO items SELECT generate_series(201, 300)");
const moment = await now();
await lookAtHorizon();
const early = await restoredTo("early", moment);
await archived(first);
// Nothing is committed from here on: no record of the log is later than the moment.
await sleep(2_500);
await lookAtHorizon();
const until = horizon.latest?.time ?? "";
const { archived: last } = await first.engine.replication();
// One port: the first one makes room.
await first.engine.stop("fast");
const idle = await restoredTo("idle", moment);
await first.engine.startPrimary({ epoch: 1, synchronousNames: "" });

/** As a standby has it that received everything: of its own accord it archives nothing of it. */
async function standbyOf({ directory }: Instance): Promise<Instance> {
  const to = join(base, "standby");
  await cp(join(directory, "pgdata"), join(to, "pgdata"), { recursive: true });
  await cp(join(directory, "keelson"), join(to, "keelson"), { recursive: true });
  const standby = await setting.instance("standby");
  const notes = join(standby.directory, "pgdata/pg_wal/archive_status");
  for (const file of await readdir(notes))
    if (file.endsWith(".ready"))
      await rename(join(notes, file), join(notes, file.replace(".ready", ".done")));
  return standby;
}

await writeFile(
  join(first.directory, "keelson/store.json"),
  JSON.stringify({ directory: "/dev/null/store" }),
);
await first.engine.query("INSERT INTO items SELECT generate_series(301, 400)");
await first.engine.query("SELECT pg_switch_wal()");
await first.engine.query("INSERT INTO items SELECT generate_series(401, 500)");
await first.engine.query("CHECKPOINT");
await first.engine.stop("kill");

const second = await standbyOf(first);
await second.engine.startStandby(undefined);
while ((await second.engine.inspect()).server !== "running") await sleep(100);
await second.engine.promote({
  epoch: 2,
  synchronousNames: "",
  ...(last !== undefined && { archived: last }),
});
await second.engine.replication();
await second.engine.query("INSERT INTO items SELECT generate_series(501, 600)");
const present = await rows(second);
await archived(second);
await second.engine.stop("fast");
const third = await setting.instance("third", { restored: {} });
await third.engine.initialise();
await third.engine.startPrimary({ epoch: 9, synchronousNames: "" });
const afterFailover = await rows(third);
await third.engine.stop("fast");
console.log(
  `RESULT ${JSON.stringify({ early, isKnown: Date.parse(until) > Date.parse(moment), idle, present, afterFailover })}`,
);
process.exit(0);
