/** Takes, proves and removes backups. */
import { readFile, rm, symlink } from "node:fs/promises";
import { BackupArchive, BackupError, openStore } from "@keelson/kit";
import type { RedisConnection } from "../engine/connection.ts";
import { dump } from "../engine/dump.ts";
import type { ServerFacts } from "../engine/info.ts";
import { leaderOf } from "../engine/leader.ts";
import { headerBytes, readHeader } from "../engine/rdb.ts";
import { RedisServer } from "../engine/redis.ts";
import { hostsOf, openConnection } from "./connect.ts";
import { migrate } from "./initialize.ts";
import { archiveFormat, type RedisManifest } from "./manifest.ts";
import type { AgentTask, RedisAccess } from "./task.ts";

type Task<D extends AgentTask["do"]> = Extract<AgentTask, { do: D }>;

async function archiveOf(task: {
  readonly store: Task<"copy">["store"];
}): Promise<BackupArchive<RedisManifest>> {
  return new BackupArchive(await openStore(task.store), archiveFormat);
}

export async function copy(task: Task<"copy">): Promise<{ manifest: RedisManifest }> {
  const archive = await archiveOf(task);
  const takenAt = new Date().toISOString();
  await archive.publish(task.name, {
    backupUid: task.backupUid,
    source: async () => {
      const { connection, host } = await source(task.access, task.primary);
      let head: Buffer = Buffer.alloc(0);
      const content = withHead(dump(connection), (bytes) => {
        head = bytes;
      });
      return {
        content,
        describe: (digest) => {
          const { format, redisVersion, replicationId, offset } = readHeader(head);
          return {
            format: 1,
            backupUid: task.backupUid,
            takenAt,
            ...digest,
            database: task.database,
            redisVersion,
            rdbVersion: format,
            ...(replicationId === undefined ? {} : { replicationId }),
            ...(offset === undefined ? {} : { offset }),
            source: host,
          };
        },
      };
    },
  });
  return { manifest: await bringBack(archive, task) };
}

/** What the store holds, under a name of ours: a file of the store itself is read in place. */
async function bringBack(
  archive: BackupArchive<RedisManifest>,
  { name, file }: Pick<Task<"copy">, "name" | "file">,
): Promise<RedisManifest> {
  const stored = archive.file(name);
  if (stored === undefined) return await archive.fetch(name, { file });
  await rm(file, { force: true });
  await symlink(stored, file);
  return await archive.read(name);
}

async function* withHead(
  content: AsyncIterable<Uint8Array>,
  onHead: (bytes: Buffer) => void,
): AsyncIterable<Uint8Array> {
  let head: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    if (head.length < headerBytes) {
      head = Buffer.concat([head, chunk.subarray(0, headerBytes - head.length)]);
      onHead(head);
    }
    yield chunk;
  }
}

/** A replica that is in sync, so that the primary is left alone; without one, or when asked for, the primary. */
async function source(
  access: RedisAccess,
  primary: boolean,
): Promise<{ connection: RedisConnection; host: string }> {
  const found: { host: string; connection: RedisConnection; facts: ServerFacts }[] = [];
  const problems: string[] = [];
  for (const host of hostsOf(access)) {
    try {
      const connection = await openConnection(access, host);
      found.push({ host, connection, facts: await new RedisServer(connection).facts() });
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  const leader = leaderOf(found);
  const inSync = found.filter(
    ({ facts }) =>
      facts.role === "replica" &&
      facts.linkUp &&
      !facts.syncing &&
      facts.replicationId === leader?.facts.replicationId,
  );
  const chosen = primary ? leader : (inSync[0] ?? leader);
  for (const each of found) if (each !== chosen) each.connection.close();
  if (chosen) return { connection: chosen.connection, host: chosen.host };
  throw new BackupError(
    "NoMember",
    `no server could be asked for a backup: ${problems.join("; ") || "none is the only primary"}`,
  );
}

/** How long a scratch server may take to load. */
const loadMs = 1_800_000;

export async function verify(task: Task<"verify">): Promise<{ manifest: RedisManifest }> {
  const checked = await readFile(task.checkFile, "utf8");
  const archive = await archiveOf(task);
  // The scratch server loads meanwhile.
  const [stored, facts] = await Promise.all([archive.check(task.name), loaded(task.access)]);
  compareLoaded(checked, facts);
  const manifest = {
    ...stored,
    verified: { at: new Date().toISOString(), redisVersion: facts.version, keys: facts.keys },
  };
  await archive.update(task.name, manifest);
  return { manifest };
}

/** What redis-check-rdb said, and what a server loaded. Keys whose time ran out since the dump may be gone already. */
export function compareLoaded(
  checked: string,
  { keys, version }: Pick<ServerFacts, "keys" | "version">,
): void {
  const { keys: counted, expiring } = checkedCounts(checked);
  if (keys <= counted && keys >= counted - expiring) return;
  throw new BackupError(
    "ContentDiffers",
    `the dump has ${counted} keys, and Redis ${version} loaded ${keys}`,
  );
}

/** From the words of redis-check-rdb, which also compares the checksum. Keys that have expired by now are in both. */
function checkedCounts(text: string): { keys: number; expiring: number } {
  if (!text.includes("RDB looks OK")) {
    const words = text.trim().split("\n").slice(-3).join(" ");
    throw new BackupError("SnapshotDamaged", `redis-check-rdb refuses the dump: ${words}`);
  }
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return { keys: number(/\[info\] (\d+) keys read/), expiring: number(/\[info\] (\d+) expires/) };
}

/** Waits until the server beside us has loaded its data. */
async function loaded(access: RedisAccess): Promise<ServerFacts> {
  const untilMs = Date.now() + loadMs;
  for (;;) {
    try {
      await using redis = new RedisServer(await openConnection(access, hostsOf(access)[0] ?? ""));
      const facts = await redis.facts();
      if (!facts.loading) return facts;
    } catch (error) {
      if (Date.now() > untilMs)
        throw new BackupError("RestoreFailed", (error as Error).message, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

export async function remove(task: Task<"remove">): Promise<object> {
  await (await archiveOf(task)).remove(task.name, task.backupUid);
  return {};
}

export async function fetchDump(task: Task<"fetch">): Promise<{ manifest: RedisManifest }> {
  return { manifest: await (await archiveOf(task)).fetch(task.name, { file: task.file }) };
}

/** The server beside us is of the version to come: what it loads and what migrations do to it is what would happen. */
export async function rehearse({ access, checkFile, migrations }: Task<"rehearse">): Promise<object> {
  const facts = await loaded(access);
  compareLoaded(await readFile(checkFile, "utf8"), facts);
  await using redis = new RedisServer(await openConnection(access, hostsOf(access)[0] ?? ""));
  return { keys: facts.keys, ran: await migrate(redis, migrations) };
}
