/** Base backups of an instance into its store, each proven by a PostgreSQL that starts from it and answers. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PgClient } from "../engine/pg-client.ts";
import { parseKnownJson } from "../ha/json.ts";
import type { Log } from "./ports.ts";
import { serverEnvironment, type Tools, writeDurably } from "./tools.ts";

export interface BackupManifest {
  readonly name: string;
  readonly uid: string;
  readonly systemId: string;
  readonly timeline: number;
  readonly version: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly sizeBytes: number;
  /** What a restored server answered. */
  readonly proof?: { readonly at: string; readonly databases: number };
}

export interface BackupJob {
  readonly name: string;
  readonly phase: "Running" | "Verifying" | "Done" | "Failed";
  readonly message: string;
  readonly manifest?: BackupManifest;
}

export interface BackupsOptions {
  readonly store: string;
  readonly programs: string;
  readonly socketDirectory: string;
  /** Room for a server that is tried. */
  readonly scratch: string;
  readonly tools: Tools;
  readonly log: Log;
  readonly describe: () => Promise<{
    readonly systemId: string;
    readonly timeline: number;
    readonly version: string;
  }>;
}

export class Backups {
  readonly #options: BackupsOptions;
  #job: BackupJob | undefined;

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  /** One at a time; asking again for the same one tells how it goes. */
  async start({ name, uid }: { readonly name: string; readonly uid: string }): Promise<BackupJob> {
    const job = this.#job;
    if (job?.name === name && job.phase !== "Failed") return job;
    if (job && (job.phase === "Running" || job.phase === "Verifying")) {
      return { name, phase: "Failed", message: `${job.name} is being taken` };
    }
    const there = await this.find(name);
    if (there?.proof) return { name, phase: "Done", message: "it was taken before", manifest: there };
    this.#job = { name, phase: "Running", message: "the data is copied" };
    void this.#take(name, uid).catch((error: unknown) => {
      this.#job = { name, phase: "Failed", message: (error as Error).message };
    });
    return this.#job;
  }

  job(name: string): BackupJob | undefined {
    return this.#job?.name === name ? this.#job : undefined;
  }

  async find(name: string): Promise<BackupManifest | undefined> {
    const text = await readFile(this.#path(`${name}.json`), "utf8").catch(() => undefined);
    return text === undefined ? undefined : (parseKnownJson(text) as BackupManifest);
  }

  /** The manifest goes first: what is left in between is no backup. The log that only it needed goes too. */
  async remove(name: string): Promise<void> {
    await rm(this.#path(`${name}.json`), { force: true });
    await rm(this.#path(name), { recursive: true, force: true });
    await this.#prune();
  }

  /** Log from before the oldest backup of its system is of no use to anybody. Without a backup, all of it is kept. */
  async #prune(): Promise<void> {
    const base = join(this.#options.store, "base");
    const names = (await readdir(base)).filter((file) => file.endsWith(".json"));
    const needed = new Map<string, string[]>();
    for (const file of names) {
      const manifest = parseKnownJson(await readFile(join(base, file), "utf8")) as BackupManifest;
      const label = await readFile(join(base, manifest.name, "backup_label"), "utf8");
      needed.set(manifest.systemId, [...(needed.get(manifest.systemId) ?? []), firstPosition(label)]);
    }
    for (const [systemId, positions] of needed) {
      const [oldest = ""] = positions.sort();
      await pruneArchive(join(this.#options.store, "wal", systemId), oldest);
    }
  }

  #path(file: string): string {
    return join(this.#options.store, "base", file);
  }

  async #take(name: string, uid: string): Promise<void> {
    const { tools, socketDirectory } = this.#options;
    const startedAt = new Date().toISOString();
    const [draft, place] = [this.#path(`${name}.tmp`), this.#path(name)];
    await mkdir(join(this.#options.store, "base"), { recursive: true });
    await rm(draft, { recursive: true, force: true });
    await rm(place, { recursive: true, force: true });
    const conninfo = `host=${socketDirectory} port=5432 user=postgres application_name=keelson-backup`;
    await tools.run("pg_basebackup", [
      "-D",
      draft,
      "-d",
      conninfo,
      "--checkpoint=fast",
      "--wal-method=stream",
      "--no-sync",
    ]);
    // A backup belongs to nobody: a server that is started from it must not go and follow a primary as its source did.
    for (const file of ["standby.signal", "keelson.conf"]) await rm(join(draft, file), { force: true });
    await tools.run("initdb", ["-D", draft, "--sync-only"]);
    await rename(draft, place);
    const facts = await this.#options.describe();
    const finishedAt = new Date().toISOString();
    const manifest: BackupManifest = {
      name,
      uid,
      ...facts,
      startedAt,
      finishedAt,
      sizeBytes: await sizeOf(place),
    };
    this.#job = { name, phase: "Verifying", message: "a server is started from it", manifest };
    const proven = {
      ...manifest,
      proof: { at: new Date().toISOString(), databases: await this.#prove(place) },
    };
    await writeDurably(this.#path(`${name}.json`), JSON.stringify(proven));
    this.#job = {
      name,
      phase: "Done",
      message: "a server that was started from it answered",
      manifest: proven,
    };
  }

  /** Starts a server from a copy, asks it, and throws the copy away. */
  async #prove(place: string): Promise<number> {
    const { programs, scratch } = this.#options;
    const copy = join(scratch, "proof");
    await rm(copy, { recursive: true, force: true });
    await mkdir(join(copy, "socket"), { recursive: true, mode: 0o700 });
    await cp(place, join(copy, "data"), { recursive: true });
    const options = [
      "listen_addresses=",
      "primary_conninfo=",
      `unix_socket_directories=${copy}/socket`,
      "archive_mode=off",
      "fsync=off",
      "shared_buffers=16MB",
      "synchronous_standby_names=",
      "ssl=off",
    ];
    const args = ["-D", join(copy, "data"), ...options.flatMap((option) => ["-c", option])];
    const child = spawn(join(programs, "postgres"), args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: serverEnvironment(),
    });
    let last = "";
    child.stderr.on("data", (chunk: Buffer) => {
      last = chunk.toString().trim().split("\n").at(-1) ?? last;
    });
    try {
      const untilMs = performance.now() + 600_000;
      while (child.exitCode === null && performance.now() < untilMs) {
        const answer = await ask(join(copy, "socket")).catch(() => undefined);
        if (answer !== undefined) return answer;
        await sleep(200);
      }
      throw new Error(`no server starts from the backup: ${last}`);
    } finally {
      child.kill("SIGKILL");
      await rm(copy, { recursive: true, force: true });
    }
  }
}

/** Where the log of a backup begins, as in the names of segments after their timeline. */
function firstPosition(label: string): string {
  const segment = /START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/.exec(label)?.[1];
  if (segment === undefined) throw new Error("a backup does not say where its log begins");
  return segment.slice(8);
}

/** Histories of timelines stay: they are small, and every later restore asks for them. */
export async function pruneArchive(directory: string, oldest: string): Promise<void> {
  const files = await readdir(directory, { withFileTypes: true, recursive: true }).catch(() => []);
  for (const file of files) {
    const isSegment = /^[0-9A-F]{24}/.test(file.name);
    if (file.isFile() && isSegment && file.name.slice(8, 24) < oldest)
      await rm(join(file.parentPath, file.name));
  }
}

async function ask(socket: string): Promise<number> {
  await using client = await PgClient.connect({
    host: socket,
    port: 5432,
    user: "postgres",
    database: "postgres",
  });
  const [row] = await client.query(
    "SELECT count(*) AS databases FROM pg_database WHERE NOT pg_is_in_recovery()",
  );
  const databases = Number(row?.["databases"]);
  if (databases === 0) throw new Error("it recovers");
  return databases;
}

async function sizeOf(directory: string): Promise<number> {
  if (!existsSync(directory)) return 0;
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
