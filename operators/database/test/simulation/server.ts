/** A simulated PostgreSQL: a log of commits, a stream to standbys, acknowledgements that wait for them. */
import type { Configuration, Engine, Replication, Upstream } from "../../src/agent/ports.ts";
import type { Vote } from "../../src/ha/quorum.ts";
import type { Local } from "../../src/ha/step.ts";
import type { Chance } from "./clock.ts";

/** A commit in a log. */
export interface Entry {
  readonly id: number;
  readonly key?: string;
  readonly value?: string;
}

/** Where servers run: time, the network between them, and somebody who looks at what they acknowledge. */
export interface Surroundings {
  readonly nowMs: number;
  readonly chance: Chance;
  readonly pods: Iterable<ServerPod>;
  later(delayMs: number, run: () => void): () => void;
  /** Whether packets go both ways. */
  canTalk(a: string, b: string): boolean;
  acknowledged(entry: Entry, by: string, epoch: number): void;
  promoted(name: string, epoch: number, log: readonly Entry[]): void;
  started(name: string): void;
  initialised(): void;
}

/** The pod of a server. */
export interface ServerPod {
  readonly name: string;
  readonly server: SimulatedServer;
  readonly isFrozen: boolean;
  /** Of the programs that it has, where there are several versions. */
  readonly major?: string;
  /** Upgrades fail. */
  readonly isUpgradeBroken?: boolean;
  /** What a backup holds; undefined when the store has none of that name. */
  backupLog?(name: string): readonly Entry[] | undefined;
  /** What it stores survives everything but the loss of its volume. */
  readonly disk: Disk;
  whenThawed(run: () => void): void;
  /** Resolves in this life of its processes or never. */
  sleep(ms: number): Promise<void>;
}

export interface Disk {
  data?: Data | undefined;
  /** Nothing more can be written. */
  isFull?: boolean;
  /** What is read is not what was written. */
  readonly isCorrupt?: boolean;
  /** New data takes the place of what could not be read. */
  replaced?(): void;
}

export interface Data {
  readonly systemId: string;
  log: Entry[];
  timeline: number;
  /** Negative while the data is not whole. */
  timelineEpoch: number;
  kind: "primary" | "standby";
  /** What wrote it, where there are several versions. */
  readonly major?: string | undefined;
  /** What was there before the last restore in place. */
  readonly before?: readonly Entry[];
  /** Which one that was. */
  readonly request?: string;
}

type Settings = Readonly<{ [name: string]: string }>;

/** A value that no setting takes. */
export const refused = "much";
/** Settings that only a restart changes. */
const restarting = ["max_connections", "shared_buffers"];

export interface SavedServer {
  readonly isRunning: boolean;
  readonly inRecovery: boolean;
  readonly upstream: Upstream | undefined;
  readonly synchronousNames: string;
  readonly epoch: number;
  readonly forkPosition: number;
  readonly taken: Settings | undefined;
  readonly wanted: Settings;
  readonly running: Settings;
  readonly flushed: readonly (readonly [string, number])[];
}

interface Pending {
  readonly entry: Entry;
  readonly position: number;
}

export class SimulatedServer implements Engine {
  readonly #world: Surroundings;
  readonly #pod: ServerPod;
  isRunning = false;
  inRecovery = false;
  upstream: Upstream | undefined;
  isReceiving = false;
  /** Changes whenever the process does: what was meant for an earlier one is lost. */
  incarnation = 0;
  synchronousNames = "";
  epoch = 0;
  #flushed = new Map<string, number>();
  #pending: Pending[] = [];
  #complaint: Local["complaint"];
  #failedRewinds = 0;
  #effectiveAtMs = 0;
  #endsWhenFull: boolean | undefined;

  /** What the spec asks for, and what the process was started with. */
  #wanted: Settings = {};
  #running: Settings = {};
  isClosed = false;
  /** Its processes are there and do nothing; only their end helps. */
  isHung = false;

  constructor(world: Surroundings, pod: ServerPod) {
    this.#world = world;
    this.#pod = pod;
  }

  get data(): Data | undefined {
    return this.#pod.disk.data;
  }

  set data(data: Data | undefined) {
    this.#pod.disk.data = data;
  }

  /** Those of the spec that it has come to know last. */
  taken: Configuration["parameters"] | undefined;
  /** Why the settings of the spec are not taken. */
  settingsProblem: string | undefined;

  /** Settings that wait for a restart. */
  get pendingRestart(): readonly string[] {
    return this.isRunning ? restarting.filter((name) => this.#wanted[name] !== this.#running[name]) : [];
  }

  get isPrimary(): boolean {
    return this.isRunning && !this.inRecovery;
  }

  // ------------------------------------------------------------------------------- clients and streams

  /** A client commits; the world hears when it is acknowledged. */
  commit(entry: Entry): void {
    if (!this.isPrimary || !this.data || this.isHung) return;
    // A server that cannot write its log ends; one that can, and nothing else, goes on and lets nobody in.
    if (this.#pod.disk.isFull) {
      this.#endsWhenFull ??= this.#world.chance.isTrue(0.5);
      if (this.#endsWhenFull) this.die();
      return;
    }
    this.data.log.push(entry);
    this.#pending.push({ entry, position: this.data.log.length });
    this.#acknowledge();
  }

  /** A client commits and waits: whether it is acknowledged before anything else happens. */
  commitNow(entry: Entry): boolean {
    if (this.isClosed) return false;
    this.commit(entry);
    for (const pod of this.#followers()) {
      this.#drainTo(pod.server);
      if (pod.server.isReceiving && pod.server.data)
        this.heard(pod.name, pod.server.data.log.length, this.incarnation);
    }
    return this.isPrimary && !this.#pending.some((each) => each.entry === entry);
  }

  #followers(): ServerPod[] {
    return [...this.#world.pods].filter(
      ({ server, isFrozen }) => !isFrozen && server.upstream?.name === this.#pod.name,
    );
  }

  /** Sends all there is, as far as the standby takes it. */
  #drainTo(standby: SimulatedServer): void {
    const length = () => standby.data?.log.length ?? 0;
    while (standby.take(this.#pod) && length() < (this.data?.log.length ?? 0));
  }

  /** The part of its log that it has acknowledged to clients, or inherited. */
  get acknowledgedLog(): readonly Entry[] {
    const [oldest] = this.#pending;
    const log = this.data?.log ?? [];
    return oldest ? log.slice(0, oldest.position - 1) : log;
  }

  #acknowledge(): void {
    if (!this.isPrimary) return;
    const { needed, names } = parseNames(this.synchronousNames);
    this.#pending = this.#pending.filter(({ entry, position }) => {
      const have = names.filter((name) => (this.#flushed.get(name) ?? 0) >= position).length;
      if (have < needed) return true;
      this.#world.acknowledged(entry, this.#pod.name, this.epoch);
      return false;
    });
  }

  /** One turn of the receiver: takes what the upstream has, and tells it. */
  stream(): void {
    this.isReceiving = false;
    const { upstream } = this;
    const source = upstream && this.#find(upstream.name);
    if (!source || !this.take(source)) return;
    const { server } = source;
    const [position, incarnation] = [this.data?.log.length ?? 0, server.incarnation];
    this.#world.later(this.#world.chance.between(0, 8), () => {
      if (source.isFrozen) source.whenThawed(() => server.heard(this.#pod.name, position, incarnation));
      else if (this.#world.canTalk(this.#pod.name, source.name))
        server.heard(this.#pod.name, position, incarnation);
    });
  }

  /** Receives some of the log; false when nothing can be received. */
  take(source: ServerPod): boolean {
    this.isReceiving = false;
    const { data } = this;
    const { server } = source;
    if (!this.isRunning || !this.inRecovery || !data) return false;
    if (!this.#world.canTalk(this.#pod.name, source.name) || source.isFrozen) return false;
    if (!server.isPrimary || !server.data || server.isHung || this.isHung) return false;
    if (this.#pod.disk.isFull) {
      this.die();
      return false;
    }
    const last = data.log.length - 1;
    if (last >= 0 && server.data.log[last] !== data.log[last]) {
      this.#complaint = "diverged";
      return false;
    }
    const behind = server.data.log.length - data.log.length;
    const count = Math.min(behind, 1 + Math.floor(this.#world.chance.next() * 4));
    data.log.push(...server.data.log.slice(data.log.length, data.log.length + count));
    if (data.log.length >= server.forkPosition && data.timeline !== server.data.timeline) {
      data.timeline = server.data.timeline;
      // Whose timeline it is stands nowhere in the log: only what was said of it before is known.
      const { timeline, timelineEpoch } = this.upstream ?? {};
      data.timelineEpoch = timeline === data.timeline ? (timelineEpoch ?? -1) : -1;
    }
    this.isReceiving = true;
    return true;
  }

  #find(name: string): ServerPod | undefined {
    for (const pod of this.#world.pods) if (pod.name === name) return pod;
    return undefined;
  }

  /** The log's length when its timeline began. */
  forkPosition = 0;

  heard(name: string, position: number, incarnation: number): void {
    if (incarnation !== this.incarnation) return;
    this.#flushed.set(name, Math.max(position, this.#flushed.get(name) ?? 0));
    this.#acknowledge();
  }

  /** The process is gone; what is on disk stays. */
  die(): void {
    this.isRunning = false;
    this.isReceiving = false;
    this.isHung = false;
    this.incarnation++;
    this.#pending = [];
    this.#flushed = new Map();
  }

  // ------------------------------------------------------------------------------- what agents do with it

  async inspect(): Promise<Local> {
    await this.#take(1);
    const { major } = this.#pod;
    const isCorrupt = this.#pod.disk.isCorrupt === true;
    const data = isCorrupt && this.data ? { ...this.data, systemId: "", timelineEpoch: -1 } : this.data;
    const isForeign = data?.major !== undefined && data.major !== major;
    return {
      name: this.#pod.name,
      ...(major !== undefined && { major }),
      ...(data && {
        data: {
          systemId: data.systemId,
          kind: data.kind,
          // Of data that another version wrote only the identifier can be read.
          ...(isForeign
            ? { timeline: 0, timelineEpoch: -1, major: data.major ?? "" }
            : { timeline: data.timeline, timelineEpoch: data.timelineEpoch }),
        },
      }),
      server: this.isRunning ? (this.#isClosedByRoom || this.isHung ? "starting" : "running") : "stopped",
      ...(this.isHung && { isSilent: true }),
      ...(this.isRunning && { inRecovery: this.inRecovery }),
      upstream: this.upstream?.name,
      upstreamEpoch: this.upstream?.timelineEpoch,
      receiving: this.isReceiving,
      complaint: this.#complaint,
      failedRewinds: this.#failedRewinds,
      isFull: this.#pod.disk.isFull === true,
      noRoom: this.#pod.disk.isFull === true,
    };
  }

  /** A session needs files of its own. */
  get #isClosedByRoom(): boolean {
    return this.#pod.disk.isFull === true && !this.inRecovery;
  }

  async position(): Promise<Vote | undefined> {
    await this.#take(1);
    const { data } = this;
    if (!this.isRunning || !this.inRecovery || !data || data.timelineEpoch < 0) return undefined;
    const { systemId, timeline, timelineEpoch } = data;
    return { name: this.#pod.name, systemId, timeline, timelineEpoch, lsn: BigInt(data.log.length) };
  }

  async initialise(): Promise<void> {
    await this.#take(1_000);
    this.#expectRoom();
    const { major } = this.#pod;
    const systemId = "7000000000000000001";
    this.data = { systemId, log: [], timeline: 1, timelineEpoch: 1, kind: "primary", major };
    this.#world.initialised();
  }

  async startPrimary(options: { readonly epoch: number; readonly synchronousNames: string }): Promise<void> {
    await this.#take(300);
    if (!this.data) throw new Error("there is no data");
    this.#expectRoom();
    this.data.kind = "primary";
    this.synchronousNames = options.synchronousNames;
    this.epoch = options.epoch;
    this.upstream = undefined;
    this.inRecovery = false;
    this.#run();
  }

  async startStandby(upstream: Upstream | undefined): Promise<void> {
    if (!this.data) throw new Error("there is no data");
    this.#expectRoom();
    if (this.#pod.disk.isCorrupt) throw new Error("could not read the control file");
    this.data.kind = "standby";
    await this.#take(300);
    this.upstream = upstream;
    this.#complaint = undefined;
    this.inRecovery = true;
    this.#run();
  }

  #expectRoom(): void {
    if (this.#pod.disk.isFull) throw new Error("could not write: No space left on device");
  }

  #run(): void {
    this.isRunning = true;
    this.#endsWhenFull = undefined;
    this.#running = this.#wanted;
    this.incarnation++;
    this.#effectiveAtMs = 0;
    this.#world.started(this.#pod.name);
  }

  async follow(upstream: Upstream | undefined): Promise<void> {
    await this.#take(20);
    if (!this.isRunning) throw new Error("PostgreSQL does not run");
    this.upstream = upstream;
    this.#complaint = undefined;
    this.isReceiving = false;
  }

  async promote(options: { readonly epoch: number; readonly synchronousNames: string }): Promise<void> {
    await this.#take(20);
    if (!this.isRunning || !this.data) throw new Error("PostgreSQL does not run");
    this.synchronousNames = options.synchronousNames;
    this.upstream = undefined;
    await this.#take(150);
    if (!this.isRunning) throw new Error("PostgreSQL ended");
    this.epoch = options.epoch;
    this.data.timeline += 1;
    this.data.timelineEpoch = options.epoch;
    this.data.kind = "primary";
    this.forkPosition = this.data.log.length;
    this.inRecovery = false;
    this.#world.promoted(this.#pod.name, options.epoch, this.data.log);
  }

  async stop(how: "fast" | "kill"): Promise<void> {
    if (how === "kill") {
      this.die();
      return;
    }
    // Senders drain before the server ends, as far as standbys are there.
    await this.#take(50);
    if (this.isPrimary) for (const { server } of this.#followers()) this.#drainTo(server);
    this.die();
  }

  async endOfLog(): Promise<bigint> {
    return BigInt(this.data?.log.length ?? 0);
  }

  async demote(): Promise<void> {
    if (this.data) this.data.kind = "standby";
  }

  async rewind(from: Upstream): Promise<void> {
    await this.stop("fast");
    const { data } = this;
    if (!data) throw new Error("there is no data");
    data.timelineEpoch = -1;
    data.kind = "primary";
    await this.#take(500);
    const source = this.#source(from);
    if (!source || this.#world.chance.isTrue(0.2)) {
      this.#failedRewinds++;
      throw new Error("pg_rewind failed");
    }
    this.#failedRewinds = 0;
    this.#complaint = undefined;
    this.data = { ...source, log: [...source.log], kind: "standby" };
  }

  async clone(from: Upstream): Promise<void> {
    await this.stop("fast");
    await this.#take(1_500);
    const source = this.#source(from);
    if (!source) throw new Error("pg_basebackup failed");
    this.#expectRoom();
    this.#complaint = undefined;
    this.#failedRewinds = 0;
    this.#pod.disk.replaced?.();
    this.data = { ...source, log: [...source.log], kind: "standby" };
  }

  /** As a copy of it is: whose timeline it is on is known only if it is the one that was spoken of. */
  #source({ name, timeline, timelineEpoch }: Upstream): Data | undefined {
    const found = this.#find(name);
    if (!found || found.isFrozen || !found.server.isPrimary) return undefined;
    const { data } = found.server;
    if (!data || !this.#world.canTalk(this.#pod.name, name)) return undefined;
    return { ...data, timelineEpoch: data.timeline === timeline ? timelineEpoch : -1 };
  }

  /** What is there now is kept for undo. What cannot be had leaves it as it was. */
  async restoreInPlace(options: Parameters<Engine["restoreInPlace"]>[0]): Promise<string> {
    const { backup, undo, epoch } = options;
    await this.stop("fast");
    await this.#take(5_000);
    this.#expectRoom();
    const { data } = this;
    if (!data || this.#pod.disk.isCorrupt) throw new Error("there is no data that can be read");
    const request = `${options.id}@${options.since}`;
    const message = undo ? "what was there before is back" : `restored from ${backup}`;
    if (data.request === request) {
      data.timelineEpoch = epoch;
      return message;
    }
    const log = undo ? data.before : backup === undefined ? undefined : this.#pod.backupLog?.(backup);
    if (!log)
      throw new Error(undo ? "nothing is kept from before a restore" : `there is no backup ${backup}`);
    const { timeline } = data;
    this.data = {
      ...data,
      ...{ log: [...log], timeline: timeline + 1, timelineEpoch: epoch, kind: "primary" },
      ...{ before: data.log, request },
    };
    this.forkPosition = log.length;
    return message;
  }

  /** Shared files make data useless that an upgrade has begun to work on. */
  async upgrade({ epoch, link }: { readonly epoch: number; readonly link: boolean }): Promise<string> {
    await this.stop("fast");
    await this.#take(5_000);
    this.#expectRoom();
    const { data } = this;
    if (!data) throw new Error("there is no data");
    if (this.#pod.disk.isCorrupt) throw new Error("the old data cannot be read");
    if (this.#pod.isUpgradeBroken) {
      if (link && this.#world.chance.isTrue(0.5)) this.data = undefined;
      throw new Error("pg_upgrade failed");
    }
    const { major } = this.#pod;
    if (major !== undefined && data.major === major) {
      data.timelineEpoch = epoch;
      return "it was done before";
    }
    const systemId = String(BigInt(data.systemId) + 1n);
    this.data = { systemId, log: [...data.log], timeline: 1, timelineEpoch: epoch, kind: "primary", major };
    this.forkPosition = 0;
    return `upgraded to ${major}`;
  }

  async checkpoint(): Promise<void> {
    await this.#take(30);
  }

  async replication(): Promise<Replication> {
    await this.#take(2);
    if (!this.isPrimary || !this.data) throw new Error("PostgreSQL is no primary");
    const { names } = parseNames(this.synchronousNames);
    return {
      lsn: BigInt(this.data.log.length),
      standbys: [...this.#world.pods]
        .filter(({ server }) => server.upstream?.name === this.#pod.name && server.isReceiving)
        .map(({ name }) => ({
          name,
          streaming: true,
          flushed: BigInt(this.#flushed.get(name) ?? 0),
          counted: names.includes(name),
        })),
      synchronousNames: this.synchronousNames,
      effective: this.#world.nowMs >= this.#effectiveAtMs,
      limits: {},
    };
  }

  async setSynchronousNames(value: string): Promise<void> {
    await this.#take(5);
    this.synchronousNames = value;
    this.#effectiveAtMs = this.#world.nowMs + this.#world.chance.between(0, 200);
    this.#acknowledge();
  }

  async configure({ parameters, closed }: Configuration): Promise<void> {
    await this.#take(5);
    const bad = Object.entries(parameters).find(([, value]) => value === refused);
    this.settingsProblem = bad && `invalid value for parameter "${bad[0]}": "${bad[1]}"`;
    if (!bad) this.#wanted = parameters;
    this.taken = parameters;
    this.isClosed = closed;
  }

  /** What a process that goes on where another was must know beside its disk. */
  save(): SavedServer {
    const { isRunning, inRecovery, upstream, synchronousNames, epoch, forkPosition, taken } = this;
    return {
      ...{ isRunning, inRecovery, upstream, synchronousNames, epoch, forkPosition, taken },
      ...{ wanted: this.#wanted, running: this.#running, flushed: [...this.#flushed] },
    };
  }

  restore({ wanted, running, flushed, ...rest }: SavedServer): void {
    Object.assign(this, rest);
    this.#wanted = wanted;
    this.#running = running;
    this.#flushed = new Map(flushed);
  }

  /** Takes some time; what the agent of an earlier life began never goes on. */
  async #take(ms: number): Promise<void> {
    await this.#pod.sleep(this.#world.chance.between(ms / 2, ms * 2));
  }
}

function parseNames(value: string): { readonly needed: number; readonly names: readonly string[] } {
  const match = /^ANY (\d+) \((.*)\)$/.exec(value);
  if (!match) return { needed: 0, names: [] };
  return {
    needed: Number(match[1]),
    names: [...(match[2] ?? "").matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ""),
  };
}
