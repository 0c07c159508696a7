/** The agents of backups and restores, without a store: snapshots lie in a vault. */
import type { ContainerEnd, ContainerStart, SimulatedProcess, SimulatedVolume } from "@keelson/testing";
import { type AgentReport, type AgentTask, taskVariable } from "../../src/agent/task.ts";
import { majority } from "../../src/engine/quorum.ts";
import type { Manifest } from "../../src/engine/snapshot-archive.ts";
import { idOf, type SimEtcd } from "./etcd.ts";
import type { DataDirectory, Entry } from "./raft.ts";

interface Snapshot {
  readonly manifest: Manifest;
  readonly entries: readonly Entry[];
  readonly minor: number;
  readonly password: string | undefined;
}

const taskMs = 1_000;

/** A container of a backup's pod, or one that prepares a restored volume. */
export function isTask({ container, environment }: ContainerStart): boolean {
  const scratch = container.name === "etcd" && container.command?.some((each) => each === "--name=scratch");
  return environment[taskVariable] !== undefined || container.name === "restore" || scratch === true;
}

export class SimTasks {
  readonly #etcd: SimEtcd;
  /** By name in the store. */
  readonly vault = new Map<string, Snapshot>();
  /** Copies that run at once, at most, so far. */
  mostAtOnce = 0;
  #copying = 0;
  /** The store cannot be reached. */
  storeDown = false;

  constructor(etcd: SimEtcd) {
    this.#etcd = etcd;
  }

  save(): readonly (readonly [string, Snapshot])[] {
    return [...this.vault];
  }

  restore(saved: readonly (readonly [string, Snapshot])[]): void {
    for (const [name, snapshot] of saved) this.vault.set(name, snapshot);
  }

  start(start: ContainerStart): SimulatedProcess {
    const task = start.environment[taskVariable];
    if (task === undefined)
      return start.container.name === "restore" ? this.#soon(start, () => ok()) : endless();
    const parsed = JSON.parse(task) as AgentTask;
    if (parsed.do === "copy") this.#copying++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#copying);
    return this.#soon(start, () => {
      if (parsed.do === "copy") this.#copying--;
      return this.#do(parsed, start);
    });
  }

  #soon(start: ContainerStart, work: () => AgentReport): SimulatedProcess {
    const process = {
      ready: true,
      ended: undefined as ContainerEnd | undefined,
      stop: () => end({ exitCode: 143, message: "" }),
      kill: () => end({ exitCode: 137, message: "" }),
    };
    const end = (how: ContainerEnd) => {
      process.ended ??= how;
    };
    this.#etcd.parts.clock.timer(taskMs, () => {
      if (process.ended) return;
      const report = work();
      end({ exitCode: report.ok ? 0 : 1, message: JSON.stringify(report) });
      start.changed();
    });
    return process;
  }

  #do(task: AgentTask, start: ContainerStart): AgentReport {
    if (task.do === "adopt") return this.#adopt(start);
    if (this.storeDown) return failed("StoreUnavailable", "the store does not answer");
    switch (task.do) {
      case "copy":
        return this.#copy(task);
      case "fetch": {
        const found = this.vault.get(task.name);
        return found
          ? ok(found.manifest)
          : failed("NotFound", `there is no backup ${task.name} in the store`);
      }
      case "verify": {
        const found = this.vault.get(task.name);
        if (!found) return failed("NotFound", `there is no backup ${task.name} in the store`);
        const revision = found.manifest.revisionAtLeast;
        const keys = new Set(found.entries.flatMap((each) => (each.type === "put" ? [each.key] : []))).size;
        const verified = {
          at: this.#at(),
          etcdVersion: found.manifest.etcdVersion,
          revision,
          keys,
          compared: true,
        };
        const manifest = { ...found.manifest, verified };
        this.vault.set(task.name, { ...found, manifest });
        return ok(manifest);
      }
      case "remove":
        this.vault.delete(task.name);
        return ok();
    }
  }

  #copy(task: Extract<AgentTask, { do: "copy" }>): AgentReport {
    const names = task.members.hosts.map((host) => host.split(".")[0] ?? "");
    const source = [...this.#etcd.processes].find(
      (process) => names.includes(process.name) && process.running() && process.ready,
    );
    if (!source) return failed("NoMember", "no member of the cluster answers with a quorum");
    const { group, memberId } = source.data;
    const voters = group.voters().length;
    if (group.activeVoters().length < majority(voters) && voters > 1 && !group.leader)
      return failed("NoMember", "no member of the cluster answers with a quorum");
    const manifest = {
      format: 1,
      name: task.name,
      backupUid: task.backupUid,
      cluster: task.cluster,
      clusterId: BigInt(group.clusterId).toString(16),
      memberId: BigInt(memberId).toString(16),
      etcdVersion: source.request.version,
      revisionAtLeast: String(group.revision()),
      sha256: "0",
      sizeBytes: source.fileBytes,
      takenAt: this.#at(),
    } as unknown as Manifest;
    const entries = group.log.filter(({ type }) => type === "put");
    this.vault.set(task.name, { manifest, entries, minor: source.minor, password: group.password });
    return ok(manifest);
  }

  /** The restored data takes its place, unless there is some already. */
  #adopt(start: ContainerStart): AgentReport {
    const volume = start.volume("data") as SimulatedVolume & { data?: DataDirectory };
    const fetch = start.pod.spec?.initContainers?.find(({ name }) => name === "fetch");
    const task = fetch?.env?.find(({ name }) => name === taskVariable)?.value ?? "{}";
    const found = this.vault.get((JSON.parse(task) as { name: string }).name);
    if (volume.data || !found) return ok();
    const command = start.pod.spec?.containers[0]?.command ?? [];
    const flag = (name: string) =>
      command.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "";
    const [token, member, peerUrl] = [
      flag("initial-cluster-token"),
      flag("name"),
      flag("initial-advertise-peer-urls"),
    ];
    const data = this.#etcd.form(
      idOf(`restored|${token}`),
      idOf(`restored|${token}|${peerUrl}`),
      { member, peerUrl },
      [...found.entries],
    );
    data.group.password = found.password;
    volume.data = data;
    return ok();
  }

  #at(): string {
    return new Date(this.#etcd.parts.clock.now()).toISOString();
  }
}

function ok(manifest?: Manifest): AgentReport {
  return { ok: true, ...(manifest && { manifest }) };
}

function failed(code: string, message: string): AgentReport {
  return { ok: false, code, message };
}

/** The scratch member beside a verification: it ends with its pod. */
function endless(): SimulatedProcess {
  const process = {
    ready: true,
    ended: undefined as ContainerEnd | undefined,
    stop: () => {
      process.ended ??= { exitCode: 0, message: "" };
    },
    kill: () => {
      process.ended ??= { exitCode: 137, message: "" };
    },
  };
  return process;
}
