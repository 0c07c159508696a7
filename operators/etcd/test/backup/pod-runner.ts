/** Runs the pods of backups in virtual time: their agents do their real work on a store and an etcd in memory. */
import type { Client } from "@keelson/client";
import { type BackupError, readAll } from "@keelson/kit";
import { MemoryStore } from "@keelson/kit/testing";
import { rawController, watch } from "@keelson/runtime/internal";
import type { SeededRandom, VirtualClock } from "@keelson/testing";
import { allow, allowSubresource, type ObjectOf, operator, silentLogger } from "keelson";
import { Pod, ServiceAccount } from "keelson/kinds";
import { runTask } from "../../src/agent/run.ts";
import { type AgentReport, type AgentTask, taskVariable } from "../../src/agent/task.ts";
import { snapshotArchive } from "../../src/engine/snapshot-archive.ts";
import { FakeEtcd } from "./fake-etcd.ts";

type PodObject = ObjectOf<typeof Pod>;
type Container = PodObject["spec"]["containers"][number];
type Ended = { readonly exitCode: number; readonly message: string };

interface Run {
  readonly ended: Map<string, Ended>;
  fetched?: Buffer;
  scratch?: FakeEtcd;
}

const containerMs = 400;

export class PodRunner {
  readonly store = new MemoryStore();
  readonly members: FakeEtcd[];
  /** Every container that ran, as `pod/container`. */
  readonly history: string[] = [];
  /** How a container fails: before its work, or after it. */
  sabotage: (pod: string, container: string) => "before" | "after" | undefined = () => undefined;
  readonly #runs = new Map<string, Run>();

  constructor() {
    const data = { keys: new Map([["a", "1"]]), revision: 2n };
    this.members = ["1", "2", "3"].map((id) => new FakeEtcd(data, { id, leader: "1" }));
  }

  /** How often a snapshot was taken. */
  get snapshots(): number {
    return this.members.reduce((sum, { snapshots }) => sum + snapshots, 0);
  }

  async start(client: Client, clock: VirtualClock, random: SeededRandom): Promise<AsyncDisposable> {
    const kubelet = rawController({
      name: "backup-kubelet",
      watches: { pods: watch(Pod) },
      writes: [allow(Pod, ["delete"]), allowSubresource(Pod, "status", ["update"])],
      reconcile: async (key, ctx) => {
        const pod = ctx.caches.pods.get(key);
        if (!pod) return;
        if (pod.metadata.deletionTimestamp !== undefined) {
          await ctx.kind(Pod).delete(pod.metadata, { uid: pod.metadata.uid, gracePeriodSeconds: 0 });
          return;
        }
        if (!(await this.#step(pod, clock))) return;
        await ctx
          .kind(Pod)
          .subresource("status")
          .update({ ...pod, status: this.#status(pod) });
        ctx.recheck(containerMs);
      },
    });
    // Pods are admitted only where the default account exists, and no controller makes it here.
    await client.kind(ServiceAccount).apply({ metadata: { namespace: "default", name: "default" } });
    const process = {
      env: {},
      hostname: "node",
      pid: 1,
      run: () => Promise.reject(new Error("no commands")),
    };
    const running = await clock.run(
      operator({
        controllers: [kubelet],
        client,
        world: { clock, random: random.fork("kubelet"), process },
        log: silentLogger,
        leaderElection: false,
        endpoints: false,
        metrics: false,
      }).start(),
    );
    return { [Symbol.asyncDispose]: async () => await clock.run(running.stop()) };
  }

  /** Does the next container's work; false when there is none. */
  async #step(pod: PodObject, clock: VirtualClock): Promise<boolean> {
    const run = this.#runs.get(pod.metadata.uid) ?? { ended: new Map<string, Ended>() };
    if (!this.#runs.has(pod.metadata.uid)) {
      this.#runs.set(pod.metadata.uid, run);
      return true;
    }
    if ([...run.ended.values()].some(({ exitCode }) => exitCode !== 0)) return false;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const next = containers.find(({ name }) => name !== "etcd" && !run.ended.has(name));
    if (!next) return false;
    this.history.push(`${pod.metadata.name}/${next.name}`);
    const fault = this.sabotage(pod.metadata.name, next.name);
    const done = fault === "before" ? undefined : await this.#work(next, run, clock);
    run.ended.set(next.name, fault !== undefined || !done ? { exitCode: 137, message: "" } : done);
    return true;
  }

  async #work(container: Container, run: Run, clock: VirtualClock): Promise<Ended> {
    if (container.name === "restore") {
      if (run.fetched) run.scratch = FakeEtcd.restored(run.fetched);
      return { exitCode: 0, message: "" };
    }
    const value = container.env?.find(({ name }) => name === taskVariable)?.value ?? "null";
    const task = JSON.parse(value) as AgentTask;
    const report =
      task.do === "fetch" ? await this.#fetch(task.name, run) : await this.#run(task, run, clock);
    return { exitCode: report.ok ? 0 : 1, message: JSON.stringify(report) };
  }

  async #fetch(name: string, run: Run): Promise<AgentReport> {
    try {
      const archive = snapshotArchive(this.store);
      const manifest = await archive.read(name);
      run.fetched = await readAll(archive.content(name, manifest));
      return { ok: true, manifest };
    } catch (error) {
      const { code, message } = error as BackupError;
      return { ok: false, code, message };
    }
  }

  async #run(task: AgentTask, run: Run, clock: VirtualClock): Promise<AgentReport> {
    return await runTask(task, {
      now: () => clock.now(),
      store: async () => this.store,
      members: async ({ hosts }) =>
        hosts[0] === "127.0.0.1" ? (run.scratch ? [run.scratch] : []) : this.members,
    });
  }

  #status(pod: PodObject): PodObject["status"] {
    const run = this.#runs.get(pod.metadata.uid);
    const of = ({ name, image = "" }: Container) => {
      const ended = run?.ended.get(name);
      const state = ended
        ? { terminated: { ...ended, reason: ended.exitCode === 0 ? "Completed" : "Error" } }
        : { waiting: { reason: "PodInitializing" } };
      return { name, image, imageID: image, ready: false, restartCount: 0, state };
    };
    const failed = [...(run?.ended.values() ?? [])].some(({ exitCode }) => exitCode !== 0);
    return {
      phase: failed ? "Failed" : "Running",
      initContainerStatuses: (pod.spec.initContainers ?? []).map(of),
      containerStatuses: pod.spec.containers.map(of),
    };
  }
}
