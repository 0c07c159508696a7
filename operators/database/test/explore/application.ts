/** PostgreSQL without processes: the agents' own code in simulated pods, each with a simulated server on its volume. */
import {
  type Application,
  type ApplicationParts,
  type ContainerEnd,
  type ContainerStart,
  LineBroken,
  type SimulatedProcess,
  type SimulatedVolume,
} from "@keelson/testing";
import type { Remembered } from "../../src/agent/ports.ts";
import { settingsVariable } from "../../src/agent/settings.ts";
import { Chance } from "../simulation/clock.ts";
import type { Data, Entry, SavedServer, Surroundings } from "../simulation/server.ts";
import { SimInstance } from "./instance.ts";

/** What lies on an instance's volume. */
export interface Files {
  readonly data?: Data | undefined;
  readonly remembered: Remembered;
}

/** A base backup in the store. */
export interface StoredBackup {
  readonly log: readonly Entry[];
  readonly timeline: number;
}

interface Saved {
  readonly servers: readonly (readonly [string, SavedServer])[];
}

/** Standbys take what their primary has so often. */
const streamMs = 400;

export class SimPostgres implements Application, Surroundings {
  readonly parts: ApplicationParts;
  readonly chance = new Chance(1);
  readonly pods = new Set<SimInstance>();
  readonly violations: string[] = [];
  /** By folder and name; what the store of backups holds. */
  readonly store = new Map<string, StoredBackup>();
  /** Nothing can be read from the store, or written to it. */
  isStoreDown = false;
  /** Rehearsals of upgrades end with an error; upgrades do. */
  isRehearsalBroken = false;
  isUpgradeBroken = false;
  /** Images whose PostgreSQL does not start. */
  readonly brokenVersions = new Set<string>();
  readonly #saved = new Map<string, SavedServer>();
  #newestEpoch = 0;
  /** What the newest primary began with. */
  #inherited = new Set<Entry>();
  #commits = 0;

  constructor(parts: ApplicationParts) {
    this.parts = parts;
    const stream = () => {
      for (const pod of this.pods) if (!pod.isFrozen) pod.server.stream();
      parts.clock.timer(streamMs, stream);
    };
    parts.clock.timer(streamMs, stream);
  }

  // -------------------------------------------------------------------------------------- containers

  start(start: ContainerStart): SimulatedProcess | ContainerEnd {
    if (start.container.name === "rehearsal" && this.isRehearsalBroken)
      return { exitCode: 1, message: "pg_upgrade --check: table odd uses regproc" };
    if (start.container.name !== "postgres" || !start.environment[settingsVariable])
      return { exitCode: 0, message: "" };
    const version = start.container.image?.split(":").at(-1) ?? "";
    if (this.brokenVersions.has(version)) return { exitCode: 1, message: "postgres: symbol lookup error" };
    const instance = new SimInstance(this, start);
    this.pods.add(instance);
    instance.begin();
    return instance;
  }

  save(): Saved {
    return { servers: [...this.pods].map((pod) => [pod.uid, pod.server.save()] as const) };
  }

  restore(state: unknown, volumes: ReadonlyMap<string, SimulatedVolume>): void {
    for (const [uid, server] of (state as Saved).servers) this.#saved.set(uid, server);
    for (const volume of volumes.values()) {
      const { data, remembered = {} } = (volume.data ?? {}) as Partial<Files>;
      if (volume.data) volume.data = { remembered, data: data && { ...data, log: [...data.log] } };
    }
  }

  resume(podUid: string, start: ContainerStart): SimulatedProcess | undefined {
    const saved = this.#saved.get(podUid);
    if (!saved) return undefined;
    const instance = new SimInstance(this, start);
    instance.server.restore(saved);
    this.pods.add(instance);
    instance.begin();
    return instance;
  }

  instance(name: string): SimInstance | undefined {
    return [...this.pods].find((pod) => pod.name === name);
  }

  /** The process that answers under a name. One that hangs, or has no power, never does. */
  async reach(name: string, namespace: string): Promise<SimInstance> {
    const instance = this.instance(name);
    if (instance && !instance.isFrozen) return instance;
    if (instance || this.#isDark(name, namespace)) return await new Promise<never>(() => {});
    throw new LineBroken("ECONNREFUSED", `nothing listens at ${name}`);
  }

  expectStore(): void {
    if (this.isStoreDown) throw new Error("the store of backups does not answer");
  }

  /** Nobody is there to refuse a connection: the machine has no power. */
  #isDark(pod: string, namespace: string): boolean {
    const found = this.parts.stored.get("pods", pod, namespace) as
      | { readonly spec?: { readonly nodeName?: string } }
      | undefined;
    const node = found?.spec?.nodeName;
    return node !== undefined && !this.parts.isPowered(node);
  }

  // -------------------------------------------------------------------------------------- clients

  /** A client commits, through a connection to this instance. */
  write(instance: SimInstance, key: string, value: string): boolean {
    return instance.server.commitNow({ id: ++this.#commits, key, value });
  }

  // -------------------------------------------------------------------------------------- surroundings of servers

  get nowMs(): number {
    return this.parts.clock.monotonic();
  }

  later(delayMs: number, run: () => void): () => void {
    return this.parts.clock.timer(delayMs, run);
  }

  canTalk(a: string, b: string): boolean {
    return this.parts.network.connected(a, b);
  }

  acknowledged(entry: Entry, by: string, epoch: number): void {
    // What the newer primary has inherited may be acknowledged late: a sender that was frozen reads what it was told before.
    if (epoch < this.#newestEpoch && !this.#inherited.has(entry))
      this.violations.push(
        `${by} acknowledged ${entry.key}=${entry.value} in epoch ${epoch} after epoch ${this.#newestEpoch} had begun to`,
      );
    this.#newestEpoch = Math.max(this.#newestEpoch, epoch);
  }

  /** A new database counts from the beginning. */
  initialised(): void {
    this.#newestEpoch = 0;
    this.#inherited = new Set();
  }

  promoted(_name: string, epoch: number, log: readonly Entry[]): void {
    if (epoch >= this.#newestEpoch) this.#inherited = new Set(log);
  }

  started(): void {}
}

export function dataOf(log: readonly Entry[]): Map<string, string> {
  return new Map(
    log.flatMap(({ key, value }) => (key === undefined || value === undefined ? [] : [[key, value]])),
  );
}
