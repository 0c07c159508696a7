/**
 * Takes a real PostgreSQL through a backup into a bucket and back, and prints what came of it as JSON:
 * `node engine.ts PROGRAMS DIRECTORY`. PostgreSQL wants an ordinary user.
 */
import { mkdir, readdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { s3Server } from "@keelson/kit/testing";
import { archived, rows, Setting } from "./setting.ts";

const [realPrograms = "", base = ""] = process.argv.slice(2);
const bucket = await s3Server({ pageSize: 1_000 });
const credentials = join(base, "credentials");
await mkdir(credentials, { recursive: true });
for (const [key, value] of Object.entries(bucket.credentials)) await writeFile(join(credentials, key), value);
const location = {
  s3: {
    ...{ endpoint: bucket.endpoint, bucket: bucket.bucket },
    ...{ region: "us-east-1", prefix: "prod/orders", credentials },
  },
};

const setting = new Setting({ programs: realPrograms, base, location });

/** The programs, of which the server takes longer to start than its start is waited for. */
async function slowPrograms(): Promise<string> {
  const directory = join(base, "slow-programs");
  await mkdir(directory);
  for (const name of await readdir(realPrograms))
    if (name !== "postgres") await symlink(join(realPrograms, name), join(directory, name));
  const script = `#!/bin/sh\n[ "$1" = -D ] && sleep 7\nexec '${join(realPrograms, "postgres")}' "$@"\n`;
  await writeFile(join(directory, "postgres"), script, { mode: 0o755 });
  return directory;
}

/** A primary whose start was given up has what standbys need, and its checkpointer was woken. */
async function slowStart(): Promise<{ role: string; woken: string }> {
  const { engine } = await setting.instance("slow", { programs: await slowPrograms() });
  await engine.initialise();
  await engine.startPrimary(primary).catch(() => undefined);
  while ((await engine.inspect()).server !== "running") await sleep(100);
  await engine.replication();
  let found: Readonly<{ [column: string]: string | null }> | undefined;
  for (let tries = 0; tries < 50 && found?.["woken"] !== "t"; tries++) {
    [found] = await engine.query(
      "SELECT (SELECT count(*) FROM pg_roles WHERE rolreplication AND NOT rolsuper) AS role," +
        " pg_conf_load_time() > pg_postmaster_start_time() AS woken",
    );
    await sleep(100);
  }
  await engine.stop("fast");
  return { role: found?.["role"] ?? "", woken: found?.["woken"] ?? "" };
}

const primary = { epoch: 1, synchronousNames: "" };
const slow = await slowStart();
const first = await setting.instance("first");
await first.engine.initialise();
await first.engine.startPrimary(primary);
await first.engine.query("CREATE TABLE items AS SELECT generate_series(1, 1000) AS id");
const backup = await setting.taken(first);
await first.engine.query("INSERT INTO items SELECT generate_series(1001, 1500)");
await archived(first);

const second = await setting.instance("second", { restored: {} });
// One port: the first one makes room.
await first.engine.stop("fast");
await second.engine.initialise();
await second.engine.startPrimary({ ...primary, epoch: 2 });
const restored = await rows(second);
await second.engine.stop("fast");

await first.engine.startPrimary(primary);
await first.engine.query("INSERT INTO items SELECT generate_series(1501, 1600)");
const targetTime = new Date(Date.now() - 3_600_000).toISOString();
const early = await first.engine
  .restoreInPlace({ id: "1", since: 1, backup: "first", targetTime, epoch: 3 })
  .catch((error: Error) => error.message);
await first.engine.restoreInPlace({ id: "2", since: 1, backup: "first", epoch: 3 });
await first.engine.startPrimary({ ...primary, epoch: 3 });
const inPlace = await rows(first);
/** What a disaster now would leave: the backup from before, and the log of whatever was done since. */
async function afterDisaster(name: string): Promise<number> {
  await first.engine.query("INSERT INTO items SELECT generate_series(5001, 5010)");
  await archived(first);
  await first.engine.stop("fast");
  const other = await setting.instance(name, { restored: {} });
  await other.engine.initialise();
  await other.engine.startPrimary(primary);
  const found = await rows(other);
  await other.engine.stop("fast");
  return found;
}
const afterInPlace = await afterDisaster("after-in-place");
await first.engine.restoreInPlace({ id: "3", since: 1, undo: true, epoch: 4 });
await first.engine.startPrimary({ ...primary, epoch: 4 });
const undone = await rows(first);
const afterUndo = await afterDisaster("after-undo");

bucket.fault = (request) => (request.includes("/wal/") ? "refuse" : undefined);
const third = await setting.instance("third", { restored: {} });
const withoutLog = await third.engine.initialise().then(
  () => "restored",
  (error: Error) => error.message,
);

await truncate(join(second.directory, "pgdata/global/pg_control"), 100);
let unreadable: string | undefined;
for (let attempt = 0; attempt < 5; attempt++) {
  const { data } = await second.engine.inspect().catch(() => ({ data: undefined }));
  unreadable = data?.systemId;
}
console.log(
  `RESULT ${JSON.stringify({ slow, backup, restored, early, inPlace, afterInPlace, undone, afterUndo, withoutLog, unreadable })}`,
);
process.exit(0);
