/** Does an agent's task. */
import { BackupError, mountedKey, openStore, type Store, type StoreLocation } from "@keelson/kit";
import type { Etcd } from "../engine/etcd.ts";
import { EtcdGateway } from "../engine/gateway.ts";
import { snapshotArchive } from "../engine/snapshot-archive.ts";
import { copySnapshot } from "./copy.ts";
import { adoptData, fetchSnapshot } from "./fetch.ts";
import type { AgentReport, AgentTask, MemberAccess } from "./task.ts";
import { verifySnapshot } from "./verify.ts";

/** How a task reaches the world; a simulation brings its own. */
export interface AgentWorld {
  readonly store: (location: StoreLocation) => Promise<Store>;
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
  const open = async (location: StoreLocation) => snapshotArchive(await world.store(location));
  switch (task.do) {
    case "copy": {
      const archive = await open(task.store);
      const members = await world.members(task.members);
      return { manifest: await copySnapshot({ ...task, ...clock, archive, members }) };
    }
    case "fetch":
      return { manifest: await fetchSnapshot({ ...task, archive: await open(task.store) }) };
    case "verify": {
      const archive = await open(task.store);
      const [scratch] = await world.members(task.scratch);
      if (!scratch) throw new BackupError("BadConfiguration", "the task names no scratch member");
      const members = await world.members(task.members);
      return { manifest: await verifySnapshot({ ...clock, archive, name: task.name, scratch, members }) };
    }
    case "adopt":
      await adoptData(task);
      return {};
    case "remove":
      await (await open(task.store)).remove(task.name, task.backupUid);
      return {};
  }
}

async function openMembers({ hosts, port, tls: path, password: at }: MemberAccess): Promise<readonly Etcd[]> {
  const [ca, cert, key] = path
    ? [await mountedKey(path, "ca.crt"), await mountedKey(path, "tls.crt"), await mountedKey(path, "tls.key")]
    : [];
  const password = at === undefined ? undefined : await mountedKey(at, "password");
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
