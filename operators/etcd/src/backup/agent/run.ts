/** Does an agent's task. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "@keelson/kit";
import { BackupError, DirectoryStore, S3Store } from "@keelson/kit";
import type { Etcd } from "../../engine/etcd.ts";
import { EtcdGateway } from "../../engine/gateway.ts";
import { copySnapshot } from "./copy.ts";
import { adoptData, fetchSnapshot } from "./fetch.ts";
import { removeBackup } from "./remove.ts";
import type { AgentReport, AgentTask, MemberAccess, StorePlace } from "./task.ts";
import { verifySnapshot } from "./verify.ts";

/** How a task reaches the world; a simulation brings its own. */
export interface AgentWorld {
  readonly store: (place: StorePlace) => Promise<Store>;
  readonly members: (access: MemberAccess) => Promise<readonly Etcd[]>;
  readonly now?: () => number;
}

export const realWorld: AgentWorld = { store: openStore, members: openMembers };

/** Never rejects: what went wrong is part of the report. */
export async function runTask(task: AgentTask, world: AgentWorld = realWorld): Promise<AgentReport> {
  try {
    return { ok: true, ...(await act(task, world)) };
  } catch (error) {
    const code = error instanceof BackupError ? error.code : ((error as { code?: string }).code ?? "Failed");
    return { ok: false, code, message: (error as Error).message.slice(0, 2_000) };
  }
}

async function act(task: AgentTask, world: AgentWorld) {
  const clock = world.now ? { now: world.now } : {};
  switch (task.do) {
    case "copy": {
      const store = await world.store(task.store);
      const members = await world.members(task.members);
      return { manifest: await copySnapshot({ ...task, ...clock, store, members }) };
    }
    case "fetch":
      return { manifest: await fetchSnapshot({ ...task, store: await world.store(task.store) }) };
    case "verify": {
      const store = await world.store(task.store);
      const [scratch] = await world.members(task.scratch);
      if (!scratch) throw new BackupError("BadConfiguration", "the task names no scratch member");
      const members = await world.members(task.members);
      return { manifest: await verifySnapshot({ ...clock, store, name: task.name, scratch, members }) };
    }
    case "adopt":
      await adoptData(task);
      return {};
    case "remove":
      await removeBackup(await world.store(task.store), task.name, task.backupUid);
      return {};
  }
}

async function openStore(place: StorePlace): Promise<Store> {
  if ("directory" in place) return new DirectoryStore(place.directory);
  const { credentials: path, ...bucket } = place.s3;
  const [accessKeyId, secretAccessKey] = [
    await secret(path, "accessKeyId"),
    await secret(path, "secretAccessKey"),
  ];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new BackupError("BadConfiguration", "the credentials lack accessKeyId or secretAccessKey");
  }
  const sessionToken = await secret(path, "sessionToken");
  const ca = await secret(path, "ca.crt");
  return new S3Store({
    ...bucket,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    ...(ca === undefined ? {} : { ca }),
  });
}

async function openMembers({ hosts, port, tls: path, password: at }: MemberAccess): Promise<readonly Etcd[]> {
  const [ca, cert, key] = path
    ? [await secret(path, "ca.crt"), await secret(path, "tls.crt"), await secret(path, "tls.key")]
    : [];
  const password = at === undefined ? undefined : await secret(at, "password");
  const pair = cert !== undefined && key !== undefined ? { cert, key } : {};
  return hosts.map(
    (host) =>
      new EtcdGateway({
        host,
        port,
        ...(ca === undefined ? {} : { tls: { ca, ...pair, serverName: host } }),
        ...(password === undefined ? {} : { credentials: { user: "root", password } }),
      }),
  );
}

/** One key of a mounted Secret. */
async function secret(directory: string, key: string): Promise<string | undefined> {
  return await readFile(join(directory, key), "utf8").then(
    (text) => (key.endsWith(".crt") || key.endsWith(".key") ? text : text.trim()),
    () => undefined,
  );
}
