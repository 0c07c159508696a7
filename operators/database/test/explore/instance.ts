/** One simulated pod of an instance: the agent, its watchdog and its server, which hang, end and come back together. */
import { hash } from "node:crypto";
import type { ContainerEnd, ContainerStart, SimulatedProcess, SimulatedVolume } from "@keelson/testing";
import { LineBroken } from "@keelson/testing";
import { Lease, Pod } from "keelson/kinds";
import { Agent } from "../../src/agent/agent.ts";
import type { InstanceReport } from "../../src/agent/handlers.ts";
import { Kubernetes, type Send, StatusError } from "../../src/agent/kubernetes.ts";
import { type Clock, Gone, type Guard, type Memory, type Peers } from "../../src/agent/ports.ts";
import { type AgentSettings, readSettings, timingsOf } from "../../src/agent/settings.ts";
import { leaseName } from "../../src/ha/lease-object.ts";
import { type Disk, type Entry, type ServerPod, SimulatedServer } from "../simulation/server.ts";
import type { Files, SimPostgres } from "./application.ts";

/** Whom agents ask for the Lease, in the network. */
export const apiName = "apiserver";

/** A volume as PostgreSQL sees it. */
class VolumeDisk implements Disk {
  readonly #volume: SimulatedVolume;

  constructor(volume: SimulatedVolume) {
    this.#volume = volume;
  }

  get files(): Files {
    return (this.#volume.data as Files | undefined) ?? { remembered: {} };
  }

  set files(files: Files) {
    this.#volume.data = files;
  }

  get data() {
    return this.files.data;
  }

  set data(data) {
    this.files = { ...this.files, data };
  }

  get isFull(): boolean {
    return this.#volume.full === true;
  }

  get isCorrupt(): boolean {
    return this.#volume.corrupt === true;
  }

  /** New data takes the place of what could not be read. */
  replaced(): void {
    this.#volume.corrupt = false;
  }
}

/** Where something lies, and what it is called. */
export function keyInStore(claim = "", directory = "", name = ""): string {
  return `${claim}:${directory}/${name}`;
}

export class SimInstance implements SimulatedProcess, ServerPod {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly major: string;
  readonly disk: VolumeDisk;
  readonly server: SimulatedServer;
  readonly agent: Agent;
  readonly #app: SimPostgres;
  readonly #start: ContainerStart;
  readonly #settings: AgentSettings;
  readonly #clock: Clock;
  ended: ContainerEnd | undefined;
  isFrozen = false;
  /** The backup that it takes. */
  backup: string | undefined;
  #held: (() => void)[] = [];
  #deadlineMs = 0;
  /** What `/readyz` said when it was last asked. */
  #isReady = false;

  constructor(app: SimPostgres, start: ContainerStart) {
    this.#app = app;
    this.#start = start;
    const { name, uid, namespace = "" } = start.pod.metadata;
    this.name = name;
    this.uid = uid;
    this.namespace = namespace;
    this.disk = new VolumeDisk(start.volume("data") ?? {});
    this.#settings = readSettings({ ...start.environment, POD_UID: uid });
    this.major = this.#settings.major;
    const { clock } = app.parts;
    this.#clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (delayMs, run) => clock.timer(delayMs, () => this.whenThawed(run)),
    };
    this.server = new SimulatedServer(app, this);
    const timings = timingsOf(this.#settings);
    const kubernetes = new Kubernetes({
      namespace,
      lease: leaseName(this.#settings.database),
      instance: name,
      roleLabel: this.#settings.roleLabel,
      send: this.#send(timings.requestTimeoutMs),
    });
    this.agent = new Agent({
      me: { name, uid },
      lease: kubernetes,
      pods: kubernetes,
      peers: this.#peers(timings.requestTimeoutMs),
      engine: this.server,
      guard: this.#guard(),
      memory: this.#memory(),
      clock: this.#clock,
      timings,
      log: { info: () => {}, warn: () => {} },
    });
  }

  backupLog(name: string): readonly Entry[] | undefined {
    this.#app.expectStore();
    return this.#app.store.get(this.keyInStore(name))?.log;
  }

  /** What is called so in the folder of this instance's backups. */
  keyInStore(name: string): string {
    const { store } = this.#settings;
    if (!store || !("directory" in store)) throw new Error("this instance has no store for backups");
    const { pod, container } = this.#start;
    const isBackups = (each: { readonly name: string }) => each.name === "backups";
    const claim = pod.spec?.volumes?.find(isBackups)?.persistentVolumeClaim?.claimName;
    const { mountPath = "" } = container.volumeMounts?.find(isBackups) ?? {};
    return keyInStore(claim, store.directory.slice(mountPath.length + 1), name);
  }

  /** The lease is looked at before anything is done with a server that runs. */
  begin(): void {
    const { renewEveryMs } = timingsOf(this.#settings);
    const rounds = async (run: () => Promise<unknown>) => {
      for (;;) {
        await run().catch(() => undefined);
        this.#look();
        await this.sleep(renewEveryMs * this.#app.chance.between(0.9, 1.1));
      }
    };
    const work = async () => {
      await this.agent.keeper.recall();
      await this.agent.keeper.round().catch(() => undefined);
      void rounds(() => this.agent.keeper.round());
      void rounds(() => this.agent.work());
    };
    void work();
  }

  /** The kubelet looks a moment after it is told: what it sees then is what was told, or it would not be told when that changes. */
  #look(): void {
    const { serving, role, receiving } = this.agent.status();
    const isReady = serving && (role === "primary" || receiving);
    if (isReady === this.#isReady) return;
    this.#isReady = isReady;
    this.#start.changed();
  }

  // -------------------------------------------------------------------------------------- as the kubelet sees it

  get ready(): boolean {
    return this.ended === undefined && !this.isFrozen && this.#isReady;
  }

  get isUpgradeBroken(): boolean {
    return this.#app.isUpgradeBroken;
  }

  get live(): boolean {
    return !this.isFrozen;
  }

  freeze(frozen: boolean): void {
    this.isFrozen = frozen;
    if (!frozen) for (const run of this.#held.splice(0)) this.whenThawed(run);
    this.#start.changed();
  }

  stop(): void {
    this.whenThawed(
      () =>
        void this.agent
          .drain()
          .catch(() => undefined)
          .then(() => this.#end({ exitCode: 0, message: "" })),
    );
  }

  kill(): void {
    this.#end({ exitCode: 137, message: "" });
  }

  #end(end: ContainerEnd): void {
    if (this.ended) return;
    this.ended = end;
    this.#held = [];
    this.server.die();
    this.#app.pods.delete(this);
    this.#start.changed();
  }

  // -------------------------------------------------------------------------------------- as its processes see it

  whenThawed(run: () => void): void {
    if (this.ended) return;
    if (this.isFrozen) this.#held.push(run);
    else run();
  }

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => void this.#clock.timer(ms, resolve));
  }

  /** What comes of something outside is heard when the process runs, or never. */
  async #heard<T>(outside: Promise<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      outside.then(
        (value) => this.whenThawed(() => resolve(value)),
        (error: unknown) => this.whenThawed(() => reject(error as Error)),
      );
    });
  }

  async #call<T>(
    to: string,
    { write = false, timeoutMs }: { readonly write?: boolean; readonly timeoutMs: number },
    work: () => Promise<T>,
  ): Promise<T> {
    const { network, clock } = this.#app.parts;
    const line = { from: this.name, to, write, timeoutMs };
    const late = new Promise<never>((_, reject) => {
      clock.timer(timeoutMs, () => reject(new Error(`${to} does not answer`)));
    });
    const answer = network.call(line, work).catch((error: unknown) => {
      if (error instanceof LineBroken && error.code === "ECONNREFUSED") throw new Gone(error.message);
      throw error;
    });
    return await this.#heard(Promise.race([answer, late]));
  }

  #send(timeoutMs: number): Send {
    const { client } = this.#app.parts;
    return async (method, path, body) =>
      await this.#call(apiName, { write: method === "PATCH", timeoutMs }, async () => {
        const [, resource, name = ""] = /\/(leases|pods)\/([^/]+)$/.exec(path) ?? [];
        const kind = client.kind((resource === "leases" ? Lease : Pod) as typeof Pod);
        const ref = { namespace: this.namespace, name };
        try {
          return method === "GET"
            ? await kind.get(ref)
            : await kind.patch(ref, { type: "merge", body: body as never });
        } catch (error) {
          const { code, message } = error as { code?: unknown; message: string };
          throw typeof code === "number" ? new StatusError(code, message) : error;
        }
      });
  }

  #peers(timeoutMs: number): Peers {
    const ask = async <T>(name: string, question: (peer: SimInstance) => T | Promise<T>, ms = timeoutMs) =>
      await this.#call(
        name,
        { timeoutMs: ms },
        async () => await question(await this.#app.reach(name, this.namespace)),
      );
    return {
      status: async (name) => await ask(name, ({ agent }) => agent.status(), Math.min(1_000, timeoutMs)),
      vote: async (name, request) => await ask(name, ({ agent }) => agent.answerVote(request), 5_000),
      failsafe: async (name, request) => await ask(name, ({ agent }) => agent.keeper.failsafe(request)),
      nudge: async (name) => await ask(name, ({ agent }) => void agent.nudge().catch(() => undefined)),
      checkpoint: async () => undefined,
      position: async (name) => await ask(name, ({ server }) => server.position()),
    };
  }

  #guard(): Guard {
    return {
      extend: (deadlineMs) => {
        this.#deadlineMs = deadlineMs;
        this.#clock.timer(deadlineMs - this.#clock.monotonic(), () => {
          if (this.#clock.monotonic() >= this.#deadlineMs && this.server.isPrimary) this.server.die();
        });
      },
    };
  }

  #memory(): Memory {
    return {
      read: async () => this.disk.files.remembered,
      write: async (remembered) => {
        await this.sleep(2);
        if (this.disk.isFull) throw new Error("No space left on device");
        this.disk.files = { ...this.disk.files, remembered };
      },
    };
  }

  // -------------------------------------------------------------------------------------- as the operator sees it

  report(): InstanceReport {
    const { agent, server } = this;
    const { data, major } = agent.local;
    const dataMajor = data && (data.major ?? major);
    const status = agent.status();
    const replication = status.role === "primary" ? agent.replication : undefined;
    const version = this.#start.container.image?.split(":").at(-1) ?? "";
    return {
      ...status,
      epoch: agent.record?.epoch,
      systemId: data?.systemId,
      ...(dataMajor !== undefined && { dataMajor }),
      timeline: data?.timeline,
      lastWords: "",
      pendingRestart: server.pendingRestart,
      isLowering: false,
      settings: server.taken ?? null,
      ...(server.settingsProblem !== undefined && { settingsProblem: server.settingsProblem }),
      version,
      sizeBytes: data ? 1_000_000 : 0,
      standbys: (replication?.standbys ?? []).map(({ name, flushed, counted, streaming }) => ({
        name,
        lagBytes: Number((replication?.lsn ?? 0n) - flushed),
        counted: counted && streaming,
      })),
      synchronousNames: replication?.synchronousNames ?? "",
      trust: hash("sha256", this.#start.files("tls")["ca.crt"] ?? ""),
      ...(server.isClosed && { closed: true }),
      connections: 1,
      maxConnections: 100,
      volume: { sizeBytes: 1_000, freeBytes: this.disk.isFull ? 0 : 500 },
    };
  }
}
