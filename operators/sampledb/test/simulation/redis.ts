/** Redis for tests in virtual time: processes in simulated pods, replication at once, volumes that outlive both. */
import { ConfigMap, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import type { Cluster } from "@keelson/testing";
import type { Connector, ObjectOf } from "keelson";
import { RedisError } from "../../src/engine/errors.ts";
import type { ServerFacts } from "../../src/engine/info.ts";
import { type Dial, nowhere, type Redis, redisPort } from "../../src/engine/redis.ts";

interface Volume {
  data: Map<string, string>;
  used: boolean;
  readonly identity: string;
}

interface Process {
  readonly podUid: string;
  readonly name: string;
  readonly ip: string;
  readonly runId: string;
  readonly volume: Volume;
  version: string;
  databases: number;
  role: "primary" | "replica";
  upstream: { host: string; port: number } | undefined;
  replicationId: string;
  secondReplicationId: string;
  secondOffset: bigint;
  offset: bigint;
  guard: number;
  settings: Map<string, string>;
  users: string[];
}

/** Told of every call that changes a server, before and after it. */
export type OnCall = (moment: "before" | "after", call: string) => void;

export class SimulatedRedis {
  readonly #volumes = new Map<string, Volume>();
  readonly #processes = new Map<string, Process>();
  #cluster: Cluster | undefined;
  #ids = 0;
  onCall: OnCall = () => undefined;
  /** Pods that do not answer, and whose links are dead, though they run. */
  readonly frozen: Set<string> = new Set();

  /** Processes live in this cluster's pods. */
  attach(cluster: Cluster): void {
    this.#cluster = cluster;
  }

  readonly connect: Connector = async (target, port) => {
    const name = "pod" in target ? target.pod.name : target.service.name;
    return { host: name, port, [Symbol.asyncDispose]: async () => undefined };
  };

  readonly dial: Dial = async ({ host }) => {
    const process = await this.#processOf(host);
    if (this.frozen.has(host)) throw new RedisError("Unreachable", `${host} does not answer`);
    return this.#client(process);
  };

  /** Writes as an application does, and says how many replicas have it. */
  async write(key: string, value: string): Promise<number> {
    const processes = await this.#living();
    const primaries = processes.filter(({ role, name }) => role === "primary" && !this.frozen.has(name));
    if (primaries.length !== 1) throw new Error(`${primaries.length} primaries`);
    const primary = primaries[0] as Process;
    const followers = processes.filter((each) => this.#follows(each, primary));
    if (followers.length < primary.guard) throw new Error("NOREPLICAS");
    for (const each of [primary, ...followers]) {
      each.volume.data.set(key, value);
      each.offset += 1n;
    }
    return followers.length;
  }

  /** What the primary holds. */
  async contents(): Promise<ReadonlyMap<string, string>> {
    const primaries = (await this.#living()).filter(({ role }) => role === "primary");
    if (primaries.length !== 1) throw new Error(`${primaries.length} primaries`);
    return (primaries[0] as Process).volume.data;
  }

  #follows(replica: Process, primary: Process): boolean {
    const { upstream, role, name } = replica;
    return (
      role === "replica" &&
      upstream?.host === primary.ip &&
      upstream.port === redisPort &&
      !this.frozen.has(name)
    );
  }

  async #pods(): Promise<ObjectOf<typeof Pod>[]> {
    const { items } = await (this.#cluster as Cluster).client.kind(Pod).list({ namespace: "default" });
    return [...items];
  }

  async #living(): Promise<Process[]> {
    const pods = await this.#pods();
    const running = pods.filter(
      ({ status, spec }) => status?.phase === "Running" && spec?.restartPolicy === "Always",
    );
    return await Promise.all(running.map(async ({ metadata }) => await this.#processOf(metadata.name)));
  }

  async #processOf(name: string): Promise<Process> {
    const { client } = this.#cluster as Cluster;
    const pod = await client.kind(Pod).find({ namespace: "default", name });
    if (pod?.status?.phase !== "Running" || !pod.status.podIP)
      throw new RedisError("Refused", `${name} is not there`);
    const known = this.#processes.get(pod.metadata.uid);
    if (known) return known;
    const claim = await client
      .kind(PersistentVolumeClaim)
      .get({ namespace: "default", name: `data-${name}` });
    const volume = this.#volumes.get(claim.metadata.uid) ?? {
      data: new Map<string, string>(),
      used: false,
      identity: claim.metadata.uid,
    };
    this.#volumes.set(claim.metadata.uid, volume);
    const { data } = await client.kind(ConfigMap).get({ namespace: "default", name: "db-config" });
    const [, version = "7.0"] = /:([0-9.]+)$/.exec(pod.spec?.containers[0]?.image ?? "") ?? [];
    const process: Process = {
      podUid: pod.metadata.uid,
      name,
      ip: pod.status.podIP,
      runId: `run-${this.#ids++}`,
      volume,
      version: `${version}.1`,
      databases: Number(/^databases (\d+)$/m.exec(data?.["redis.conf"] ?? "")?.[1] ?? 16),
      role: "replica",
      upstream: { host: nowhere.host, port: volume.used ? nowhere.portWithData : nowhere.portWhenEmpty },
      replicationId: this.#newId(),
      secondReplicationId: "0".repeat(40),
      secondOffset: -1n,
      offset: 0n,
      guard: 0,
      settings: new Map(),
      users: [],
    };
    volume.used = true;
    this.#processes.set(process.podUid, process);
    return process;
  }

  #newId(): string {
    return String(this.#ids++).padStart(40, "a");
  }

  #client(process: Process): Redis {
    const change = async (call: string, work: () => Promise<void> | void) => {
      this.onCall("before", `${process.name} ${call}`);
      await work();
      this.onCall("after", `${process.name} ${call}`);
    };
    return {
      fingerprint: undefined,
      facts: async () => await this.#facts(process),
      lead: async () =>
        await change("lead", () => {
          if (process.role === "primary") return;
          process.role = "primary";
          process.upstream = undefined;
          process.secondReplicationId = process.replicationId;
          process.secondOffset = process.offset + 1n;
          process.replicationId = this.#newId();
        }),
      follow: async (upstream) =>
        await change(`follow ${upstream.host}`, async () => {
          process.role = "replica";
          process.upstream = upstream;
          const primary = (await this.#living()).find(({ ip }) => ip === upstream.host);
          if (primary?.role === "primary") this.#copy(primary, process);
        }),
      settings: async (names) => new Map(names.map((name) => [name, process.settings.get(name) ?? ""])),
      set: async (settings) =>
        await change("set", () => {
          for (const [name, value] of settings) process.settings.set(name, value);
          process.guard = Number(process.settings.get("min-replicas-to-write") ?? 0);
        }),
      users: async () => process.users,
      setUser: async (line) => {
        process.users = [...process.users.filter((each) => each.split(" ")[1] !== line.split(" ")[1]), line];
      },
      removeUser: async (name) => {
        process.users = process.users.filter((each) => each.split(" ")[1] !== name);
      },
      pauseWrites: async () => undefined,
      resume: async () => undefined,
      dropClients: async () => undefined,
      call: async ([name]) => (name === "HKEYS" ? [] : null),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  #copy(from: Process, to: Process): void {
    to.volume.data = new Map(from.volume.data);
    to.replicationId = from.replicationId;
    to.secondReplicationId = from.secondReplicationId;
    to.offset = from.offset;
  }

  async #facts(process: Process): Promise<ServerFacts> {
    const living = await this.#living();
    const upstream = living.find(({ ip }) => ip === process.upstream?.host);
    const linkUp =
      process.role === "replica" && upstream?.role === "primary" && !this.frozen.has(upstream.name);
    const { version, runId, role, replicationId, secondReplicationId, secondOffset, offset, guard } = process;
    return {
      ...{ version, runId, role, replicationId, secondReplicationId, secondOffset, offset, guard },
      loading: false,
      upstream: process.upstream,
      linkUp,
      silentSeconds: linkUp ? 0 : undefined,
      syncing: false,
      replicas: living
        .filter((each) => this.#follows(each, process))
        .map((each) => ({
          host: each.ip,
          port: redisPort,
          online: true,
          offset: each.offset,
          lagSeconds: 0,
        })),
      failingOver: false,
      volume: process.volume.identity,
      keys: process.volume.data.size,
      rewriting: false,
      databases: process.databases,
      persistenceFailed: false,
    };
  }
}
