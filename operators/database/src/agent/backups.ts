/** Takes base backups of an instance, each proven by a PostgreSQL that starts from it and answers. */
import { spawn } from "node:child_process";
import { mkdir, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@keelson/kit/store";
import { PgClient } from "../engine/pg-client.ts";
import { leastFree } from "../engine/room.ts";
import { prune } from "./archive.ts";
import { type BackupManifest, BaseBackups } from "./base-backups.ts";
import type { Log } from "./ports.ts";
import { serverEnvironment, type Tools } from "./tools.ts";

export interface BackupJob {
  readonly name: string;
  /** Waiting: it has not begun, because another one is being taken. */
  readonly phase: "Waiting" | "Running" | "Verifying" | "Done" | "Failed";
  readonly message: string;
  readonly manifest?: BackupManifest;
}

/** Of the instance, and not of its data. */
const leftOut = ["standby.signal", "keelson.conf"];

export interface BackupsOptions {
  /** Who takes them. */
  readonly instance: string;
  /** Opened for each use: credentials change. */
  readonly store: () => Promise<Store>;
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
    /** How much data there is. */
    readonly dataBytes: number;
  }>;
}

export class Backups {
  readonly #options: BackupsOptions;
  #job: BackupJob | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  /** One at a time; asking again for the same one tells how it goes. */
  async start(wanted: { readonly name: string; readonly uid: string }): Promise<BackupJob> {
    const turn = this.#turn.then(async () => await this.#start(wanted));
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  async #start({ name, uid }: { readonly name: string; readonly uid: string }): Promise<BackupJob> {
    const job = this.#job;
    if (job?.name === name && job.phase !== "Failed") return job;
    if (job && (job.phase === "Running" || job.phase === "Verifying")) {
      return { name, phase: "Waiting", message: `${job.name} is being taken` };
    }
    const there = await this.find(name);
    if (there) return { name, phase: "Done", message: "it was taken before", manifest: there };
    this.#job = { name, phase: "Running", message: "the data is copied" };
    void this.#take(name, uid).catch((error: unknown) => {
      this.#job = { name, phase: "Failed", message: (error as Error).message };
    });
    return this.#job;
  }

  job(name: string): BackupJob | undefined {
    return this.#job?.name === name ? this.#job : undefined;
  }

  /** What is proven, and there. */
  async find(name: string): Promise<BackupManifest | undefined> {
    return await new BaseBackups(await this.#options.store()).proven(name);
  }

  /** The log that only this backup needed goes too. */
  async remove(name: string): Promise<void> {
    const store = await this.#options.store();
    const backups = new BaseBackups(store);
    await backups.remove(name);
    // Log from before the oldest backup of its system is of no use to anybody. Without a backup, all of it is kept.
    const needed = new Map<string, string[]>();
    for (const manifest of await backups.manifests()) {
      const first = await backups.firstPosition(manifest);
      needed.set(manifest.systemId, [...(needed.get(manifest.systemId) ?? []), first]);
    }
    for (const [systemId, positions] of needed) await prune(store, systemId, positions.sort()[0] ?? "");
  }

  async #take(name: string, uid: string): Promise<void> {
    const { instance, tools, socketDirectory, scratch } = this.#options;
    const startedAt = new Date().toISOString();
    await expectRoom(scratch, (await this.#options.describe()).dataBytes);
    const backups = new BaseBackups(await this.#options.store());
    const folder = backups.folder(name, instance);
    const draft = backups.draft(folder, scratch);
    await mkdir(dirname(draft), { recursive: true });
    await rm(draft, { recursive: true, force: true });
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
    const finishedAt = new Date().toISOString();
    // A backup belongs to nobody: a server that is started from it must not go and follow a primary as its source did.
    for (const file of leftOut) await rm(join(draft, file), { force: true });
    await tools.run("initdb", ["-D", draft, "--sync-only"]);
    const sizeBytes = await backups.keep(folder, draft);
    const { systemId, timeline, version } = await this.#options.describe();
    const manifest: BackupManifest = {
      name,
      uid,
      folder,
      systemId,
      timeline,
      version,
      startedAt,
      finishedAt,
      sizeBytes,
    };
    this.#job = { name, phase: "Verifying", message: "a server is started from it", manifest };
    const proven = {
      ...manifest,
      proof: { at: new Date().toISOString(), databases: await this.#prove(backups, folder) },
    };
    const sealed = await backups.seal(proven);
    // Another instance was faster.
    if (sealed.folder !== folder) await backups.clear(folder);
    this.#job = {
      name,
      phase: "Done",
      message: "a server that was started from it answered",
      manifest: sealed,
    };
  }

  /** Starts a server from a copy, asks it, and throws the copy away. */
  async #prove(backups: BaseBackups, folder: string): Promise<number> {
    const { programs, scratch, tools } = this.#options;
    const copy = join(scratch, "proof");
    await rm(copy, { recursive: true, force: true });
    await mkdir(join(copy, "socket"), { recursive: true, mode: 0o700 });
    await backups.copyFolder(folder, join(copy, "data"));
    // Every byte is what PostgreSQL sent; the log is tried by the server itself.
    const ignored = leftOut.flatMap((file) => ["--ignore", file]);
    await tools.run("pg_verifybackup", ["--no-parse-wal", ...ignored, join(copy, "data")]);
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

/** A copy of all data lies beside the data for a while. A volume that is full ends PostgreSQL, a backup that fails does not. */
async function expectRoom(directory: string, neededBytes: number): Promise<void> {
  const { bsize, blocks, bavail } = await statfs(directory);
  const [sizeBytes, freeBytes] = [bsize * blocks, bsize * bavail];
  if (freeBytes - neededBytes >= leastFree(sizeBytes)) return;
  const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  throw new Error(
    `a copy of ${mebibytes(neededBytes)} is needed to prove a backup, and the volume has ${mebibytes(freeBytes)} left; raise spec.storage.size`,
  );
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
