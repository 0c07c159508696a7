/**
 * Takes a real PostgreSQL to moments that its archive has, has not yet, and has without a later commit, and fails over from
 * a primary that had not archived everything. Prints what came of it as JSON: `node archive.ts PROGRAMS DIRECTORY`.
 */
import { cp, readdir, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
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

/** Without a moment as far as the log goes. */
async function restoredTo(name: string, targetTime?: string): Promise<number | string> {
  const restored = targetTime === undefined ? {} : { targetTime };
  const other = await setting.instance(name, { restored, archives: false });
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

/** As if a segment were lost from the store. */
async function without<T>(segment: string, act: () => Promise<T>): Promise<T> {
  const log = join(location.directory, "wal");
  const found = (await readdir(log, { recursive: true })).find((path) => basename(path) === segment) ?? "";
  await rename(join(log, found), join(base, segment));
  const result = await act();
  await rename(join(base, segment), join(log, found));
  return result;
}

await first.engine.initialise();
// What it commits by itself would count as a commit.
await first.engine.configure({ parameters: { autovacuum: "off" }, floors: {}, closed: false });
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
const gap = await without(last ?? "", async () => {
  const said = String(await restoredTo("gap"));
  const advised = /targetTime (\S+)$/.exec(said)?.[1] ?? "none";
  return { said, later: await restoredTo("later", moment), advised: await restoredTo("advised", advised) };
});
await first.engine.startPrimary({ epoch: 1, synchronousNames: "" });

/** As a standby has it that received everything: of its own accord it archives nothing of it. */
async function standbyOf({ directory }: Instance, name: string): Promise<Instance> {
  const to = join(base, name);
  await cp(join(directory, "pgdata"), join(to, "pgdata"), { recursive: true });
  await cp(join(directory, "keelson"), join(to, "keelson"), { recursive: true });
  const standby = await setting.instance(name);
  const notes = join(standby.directory, "pgdata/pg_wal/archive_status");
  for (const file of await readdir(notes))
    if (file.endsWith(".ready"))
      await rename(join(notes, file), join(notes, file.replace(".ready", ".done")));
  return standby;
}

/** From now on it cannot archive anything. */
async function cutOff({ directory }: Instance): Promise<void> {
  await writeFile(join(directory, "keelson/store.json"), JSON.stringify({ directory: "/dev/null/store" }));
}

/** It takes over from one of which `last` is known to be archived. */
async function promoted({ engine }: Instance, epoch: number): Promise<void> {
  await engine.startStandby(undefined);
  while ((await engine.inspect()).server !== "running") await sleep(100);
  await engine.promote({ epoch, synchronousNames: "", ...(last !== undefined && { archived: last }) });
  await engine.replication();
}

await cutOff(first);
await first.engine.query("INSERT INTO items SELECT generate_series(301, 400)");
await first.engine.query("SELECT pg_switch_wal()");
await first.engine.query("INSERT INTO items SELECT generate_series(401, 500)");
await first.engine.query("CHECKPOINT");
await first.engine.stop("kill");

// The second one is lost before it has archived anything, not even that it began a timeline.
const second = await standbyOf(first, "second");
await cutOff(second);
await promoted(second, 2);
await second.engine.query("INSERT INTO items SELECT generate_series(501, 550)");
await second.engine.query("SELECT pg_switch_wal()");
await second.engine.query("CHECKPOINT");
await second.engine.stop("kill");
const third = await standbyOf(second, "third");
await promoted(third, 3);
await third.engine.query("INSERT INTO items SELECT generate_series(551, 600)");
const present = await rows(third);
await archived(third);
await third.engine.stop("fast");
const fourth = await setting.instance("fourth", { restored: {} });
await fourth.engine.initialise();
await fourth.engine.startPrimary({ epoch: 9, synchronousNames: "" });
const afterFailover = await rows(fourth);
await fourth.engine.stop("fast");
const isKnown = Date.parse(until) > Date.parse(moment);
const gapBefore = await without(last ?? "", async () => await restoredTo("gap-before"));
console.log(`RESULT ${JSON.stringify({ early, isKnown, idle, gap, present, afterFailover, gapBefore })}`);
process.exit(0);
