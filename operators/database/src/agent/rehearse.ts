/**
 * Rehearses a major upgrade on a clone of the primary while that serves: everything that would fail later fails here,
 * and nobody notices. Ends with 0 when the new version started and answered; what it says last is for people.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseKnownJson } from "../ha/json.ts";
import { hbaConf, postgresqlConf, replicationUser } from "./configuration.ts";
import { MajorUpgrade } from "./major-upgrade.ts";
import type { Log } from "./ports.ts";
import { PrivateServer } from "./private-server.ts";
import { Tools } from "./tools.ts";

/** The variable that holds the settings as JSON. */
export const rehearsalVariable = "KEELSON_REHEARSAL";

export interface RehearsalSettings {
  readonly host: string;
  readonly programs: string;
  readonly oldPrograms: string;
  readonly major: string;
  /** The volume for the clone. */
  readonly directory: string;
  readonly secrets: string;
  readonly parameters: Readonly<{ [name: string]: string }>;
}

const log: Log = {
  info: (message, fields) => console.log(JSON.stringify({ message, ...fields })),
  warn: (message, fields) => console.log(JSON.stringify({ message, ...fields })),
};

async function rehearse(settings: RehearsalSettings): Promise<string> {
  const { directory, programs, oldPrograms, major, parameters } = settings;
  const [data, scratch] = [join(directory, "pgdata"), join(directory, "scratch")];
  const began = performance.now();
  for (const each of ["pgdata", "pgdata.new", "before-upgrade", "scratch"]) {
    await rm(join(directory, each), { recursive: true, force: true });
  }
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const password = (await readFile(join(settings.secrets, "replication"), "utf8")).trim();
  const source = `host=${settings.host} port=5432 user=${replicationUser} application_name=rehearsal connect_timeout=10 sslmode=require`;
  await new Tools(programs).run(
    "pg_basebackup",
    ["-D", data, "-d", source, "--checkpoint=fast", "--wal-method=stream", "--no-sync"],
    { PGPASSWORD: password },
  );
  const configure = async (place: string) => {
    const values = { ...parameters, max_slot_wal_keep_size: "-1" };
    const conf = postgresqlConf({ name: "rehearsal", socketDirectory: scratch, parameters: values });
    await writeFile(join(place, "postgresql.conf"), conf);
    await writeFile(join(place, "pg_hba.conf"), hbaConf({ tls: false, require: false, closed: false }));
    for (const file of ["keelson.conf", "standby.signal"]) await rm(join(place, file), { force: true });
  };
  await configure(data);
  const old = await PrivateServer.start({ programs: oldPrograms, directory: data, socketDirectory: scratch });
  await old.stop();
  const clonedMs = performance.now();
  const work = new MajorUpgrade({
    directory,
    programs,
    oldPrograms,
    scratch: join(directory, "upgrade"),
    initdbOptions: [],
    configure,
    log,
  });
  const message = await work.run({ link: true, to: major });
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  return `a clone was made in ${seconds(clonedMs - began)} s and upgraded in ${seconds(performance.now() - clonedMs)} s; ${message}`;
}

async function main(): Promise<void> {
  try {
    const message = await rehearse(
      parseKnownJson(process.env[rehearsalVariable] ?? "{}") as RehearsalSettings,
    );
    await writeFile("/dev/termination-log", message).catch(() => undefined);
    console.log(message);
  } catch (error) {
    await writeFile("/dev/termination-log", (error as Error).message.slice(0, 4_000)).catch(() => undefined);
    console.log((error as Error).message);
    process.exitCode = 1;
  }
}

// The operator imports this module too, and what it imports must not await anything to become one file.
if (process.argv[1] === import.meta.filename) void main();
