/** Redis without processes: servers start from volumes, follow each other over the simulated network, and end. */
import { hash, X509Certificate } from "node:crypto";
import type {
  Application,
  ApplicationParts,
  ContainerEnd,
  ContainerStart,
  SimulatedProcess,
  SimulatedVolume,
} from "@keelson/testing";
import { nowhere, redisPort } from "../../src/engine/redis.ts";
import { compareVersions, minorOf } from "../../src/engine/version.ts";
import { systemUsers } from "../../src/resources/settings.ts";
import { startTask } from "./agent.ts";
import { type Archive, cloned, contentOf, type Files, newFiles, putBack } from "./files.ts";

interface Upstream {
  readonly host: string;
  readonly port: number;
}

interface SavedServer {
  readonly podUid: string;
  readonly runId: string;
  readonly state: Pick<
    SimServer,
    | "role"
    | "upstream"
    | "replicationId"
    | "secondReplicationId"
    | "secondOffset"
    | "offset"
    | "settings"
    | "users"
    | "certificate"
    | "replicaPassword"
    | "rewritesUntilMs"
  >;
}

interface Saved {
  readonly ids: number;
  readonly servers: readonly SavedServer[];
}

/** What a server presents and whom it trusts, read from its files when it starts and when it is told. */
interface Presented {
  readonly certificate: string;
  readonly ca: string;
}

/** Whether a certificate was issued by one of the authorities of a bundle. */
function isTrusted({ certificate }: Pick<Presented, "certificate">, bundle: string): boolean {
  const leaf = new X509Certificate(certificate);
  const authorities = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return authorities.some((each) => leaf.verify(new X509Certificate(each).publicKey));
}

/** A replica gives its link up after this long without a word. */
const linkMs = 30_000;
const pingMs = 1_000;
/** How long a server writes its file after it was given a full copy. */
const rewriteMs = 400;

/** Servers, and the tasks of the operator's agent. */
export class SimRedis implements Application {
  readonly servers = new Set<SimServer>();
  readonly violations: string[] = [];
  readonly parts: ApplicationParts;
  /** Settings that no server starts with, as `name value`. */
  readonly badSettings = new Set<string>();
  /** Pods that are filling their volume. */
  readonly filling = new Set<string>();
  /** No backup can be read or written. */
  storeDown = false;
  /** How long a task of the agent takes. */
  taskMs = 1_500;
  readonly #saved = new Map<string, SavedServer>();
  #ids = 0;

  constructor(parts: ApplicationParts) {
    this.parts = parts;
    const ping = () => {
      this.settle();
      parts.clock.timer(pingMs, ping);
    };
    parts.clock.timer(pingMs, ping);
  }

  now(): number {
    return this.parts.clock.monotonic();
  }

  newId(): string {
    return String(++this.#ids).padStart(40, "a");
  }

  start(start: ContainerStart): SimulatedProcess | ContainerEnd {
    if (start.container.name !== "redis") return startTask(start, this);
    const conf = start.files("config")["redis.conf"] ?? "";
    const bad = [...this.badSettings].find((line) => conf.includes(line));
    if (bad !== undefined)
      return { exitCode: 1, message: `Bad directive or wrong number of arguments: ${bad}` };
    const tls = start.files("tls");
    if (usesTls(start) && !(tls["tls.crt"] && tls["tls.key"] && tls["ca.crt"]))
      return { exitCode: 1, message: "Failed to configure TLS. Check logs for more info." };
    const volume = start.volume("data") ?? {};
    if (volume.corrupt) return { exitCode: 1, message: "Bad file format reading the append only file" };
    const version = versionOf(start);
    const isEmpty = prepareVolume(start, volume, version);
    const files = volume.data as Files;
    files.identity ||= this.newId();
    if (compareVersions(files.version, version) > 0)
      return {
        exitCode: 1,
        message: `Error reading the RDB preamble of the append only file, of Redis ${files.version}`,
      };
    const server = new SimServer(this, start, volume, { runId: this.newId(), isEmpty });
    this.servers.add(server);
    return server;
  }

  save(): Saved {
    return { ids: this.#ids, servers: [...this.servers].map((server) => server.saved()) };
  }

  restore(state: unknown, volumes: ReadonlyMap<string, SimulatedVolume>): void {
    const { ids, servers } = state as Saved;
    this.#ids = ids;
    for (const server of servers) this.#saved.set(server.podUid, server);
    for (const volume of volumes.values()) {
      const data = volume.data as Files | Archive | undefined;
      if (data) volume.data = data instanceof Map ? new Map(data) : cloned(data);
    }
  }

  resume(podUid: string, start: ContainerStart): SimulatedProcess | undefined {
    const saved = this.#saved.get(podUid);
    if (!saved) return undefined;
    const volume = start.volume("data") ?? {};
    volume.data ??= newFiles(versionOf(start));
    const server = new SimServer(this, start, volume, { runId: saved.runId, isEmpty: false });
    Object.assign(server, { ...saved.state, settings: new Map(saved.state.settings) });
    this.servers.add(server);
    return server;
  }

  server(name: string): SimServer | undefined {
    return [...this.servers].find((each) => each.name === name);
  }

  at(address: string | undefined): SimServer | undefined {
    return [...this.servers].find((each) => each.address === address);
  }

  /** Links that can be made are made, and a server that is linked has all that its primary has. */
  settle(): void {
    for (const server of this.servers) server.settle();
  }

  /** A client's write: how many replicas have it, or undefined when it is refused. */
  write(primary: SimServer, key: string, value: string): number | undefined {
    this.settle();
    const followers = [...this.servers].filter((each) => each.isLinkedTo(primary));
    if (!primary.takesWrites) return undefined;
    primary.files.version = minorOf(primary.version);
    for (const each of [primary, ...followers]) {
      each.files.keys.set(key, value);
      each.offset += 1n;
    }
    return followers.length;
  }
}

function usesTls({ pod }: ContainerStart): boolean {
  return pod.spec?.volumes?.some(({ name }) => name === "tls") === true;
}

function versionOf({ container }: ContainerStart): string {
  return /:([0-9.]+)$/.exec(container.image ?? "")?.[1] ?? "7.0";
}

/** A copy that was not written before the process ended is not there any more. Redis does not wait for it when it stops. */
function loseUnwritten(files: Files): void {
  const { before } = files;
  if (!before) return;
  files.keys.clear();
  for (const [key, value] of before.keys) files.keys.set(key, value);
  Object.assign(files, { lineage: before.lineage, version: before.version, before: undefined });
}

/** What the start script does. True when the server starts on nothing. */
function prepareVolume(start: ContainerStart, volume: SimulatedVolume, version: string): boolean {
  const isNew = volume.data === undefined;
  volume.data ??= newFiles(version);
  const files = volume.data as Files;
  putBack(files);
  const wrote = files.started;
  files.started = version;
  const plan = start.files("config")[`plan.${start.pod.metadata.name}`];
  if (plan === undefined || isNew || wrote === version) return isNew;
  Object.assign(files, { keys: new Map(), version });
  return true;
}

export class SimServer implements SimulatedProcess {
  readonly name: string;
  readonly address: string;
  readonly runId: string;
  readonly volume: SimulatedVolume;
  readonly version: string;
  readonly databases: number;
  /** Whether it is a server of the database: a trial has no volume. */
  readonly files: Files;
  readonly #world: SimRedis;
  readonly #start: ContainerStart;
  ended: ContainerEnd | undefined;
  frozen = false;
  role: "primary" | "replica" = "replica";
  upstream: Upstream | undefined;
  replicationId: string;
  secondReplicationId = "0".repeat(40);
  secondOffset = -1n;
  offset = 0n;
  settings = new Map<string, string>();
  /** Lines of an ACL file. */
  users: string[];
  /** With which it logs in to its primary, read when it starts and when it is told. */
  replicaPassword: string;
  /** Undefined without TLS. */
  certificate: Presented | undefined;
  pausedUntilMs = 0;
  /** Until then it writes its file. */
  rewritesUntilMs = 0;
  /** When its primary was last heard. */
  heardMs: number | undefined;
  #linkedTo: SimServer | undefined;
  /** When each replica was last heard, by its run id. */
  readonly #heard = new Map<string, { readonly server: SimServer; atMs: number }>();

  constructor(
    world: SimRedis,
    start: ContainerStart,
    volume: SimulatedVolume,
    { runId, isEmpty }: { readonly runId: string; readonly isEmpty: boolean },
  ) {
    this.#world = world;
    this.#start = start;
    this.volume = volume;
    this.runId = runId;
    this.name = start.pod.metadata.name;
    this.address = start.address;
    this.version = `${versionOf(start)}.1`;
    this.databases = Number(/^databases (\d+)$/m.exec(start.files("config")["redis.conf"] ?? "")?.[1] ?? 16);
    this.files = volume.data as Files;
    this.upstream = { host: nowhere.host, port: isEmpty ? nowhere.portWhenEmpty : nowhere.portWithData };
    this.replicationId = world.newId();
    this.users = (start.files("acl")["users.acl"] ?? "").split("\n").filter((line) => line !== "");
    this.replicaPassword = start.files("internal")[systemUsers.replica] ?? "";
    this.readCertificate();
  }

  readCertificate(): void {
    if (!usesTls(this.#start)) return;
    const { "tls.crt": certificate = "", "ca.crt": ca = "" } = this.#start.files("tls");
    this.certificate = { certificate, ca };
  }

  saved(): SavedServer {
    const { role, upstream, replicationId, secondReplicationId, secondOffset, offset } = this;
    const { settings, users, certificate, replicaPassword, rewritesUntilMs } = this;
    return {
      podUid: this.#start.pod.metadata.uid,
      runId: this.runId,
      state: {
        ...{ role, upstream, replicationId, secondReplicationId, secondOffset, offset },
        ...{ settings, users, certificate, replicaPassword, rewritesUntilMs },
      },
    };
  }

  get nowMs(): number {
    return this.#world.now();
  }

  get running(): boolean {
    return this.ended === undefined && !this.frozen;
  }

  get ready(): boolean {
    return this.running;
  }

  get live(): boolean {
    return !this.frozen;
  }

  get guard(): number {
    return Number(this.settings.get("min-replicas-to-write") ?? 0);
  }

  /** Once it is done, its volume holds what it has. */
  get isRewriting(): boolean {
    if (this.#world.now() < this.rewritesUntilMs) return true;
    if (this.ended === undefined) this.files.before = undefined;
    return false;
  }

  get isPaused(): boolean {
    return this.#world.now() < this.pausedUntilMs;
  }

  /** Replicas that were heard within the lag that is allowed. */
  get closeReplicas(): number {
    const lagMs = Number(this.settings.get("min-replicas-max-lag") ?? 10) * 1_000;
    return this.replicas.filter(({ atMs }) => this.#world.now() - atMs <= lagMs).length;
  }

  /** Those whose connection it has not seen break. */
  get replicas(): readonly { readonly server: SimServer; readonly atMs: number }[] {
    return [...this.#heard.values()].filter(
      ({ server }) => server.ended === undefined && server.#linkedTo === this,
    );
  }

  isLinkedTo(primary: SimServer): boolean {
    return this.running && this.#linkedTo === primary && this.#hears(primary);
  }

  get linkUp(): boolean {
    return this.#linkedTo !== undefined;
  }

  /** Whether someone who trusts these authorities, or speaks no TLS, gets a connection. */
  accepts(ca: string | undefined): boolean {
    if (!this.certificate || ca === undefined) return this.certificate === undefined && ca === undefined;
    return isTrusted(this.certificate, ca);
  }

  allows(user: string, password: string): boolean {
    const line = this.users.find((each) => each.startsWith(`user ${user} on `));
    return line?.includes(`#${hash("sha256", password)}`) === true;
  }

  #hears(other: SimServer): boolean {
    return other.running && this.#world.parts.network.connected(this.name, other.name);
  }

  settle(): void {
    if (!this.running || this.role !== "replica") return;
    const nowMs = this.#world.now();
    const primary = this.#linkedTo;
    if (primary) {
      const heard = this.#hears(primary) && primary.role === "primary";
      if (heard) this.#hear(primary, nowMs);
      // What was sent while it did not listen arrives late.
      if (heard && this.offset < primary.offset && !this.isPaused) this.#copy(primary);
      // A process that ended closes its connections; a silent one is given up later.
      const broken = primary.ended !== undefined || primary.role !== "primary";
      if (broken || nowMs - (this.heardMs ?? 0) > linkMs) this.#linkedTo = undefined;
      return;
    }
    const found = this.upstream?.port === redisPort ? this.#world.at(this.upstream.host) : undefined;
    if (found?.role !== "primary" || found === this || !this.#hears(found)) return;
    if (!found.accepts(this.certificate?.ca)) return;
    if (!found.allows(systemUsers.replica, this.replicaPassword)) return;
    // An older server cannot read what a newer one sends.
    if (compareVersions(found.version, this.version) > 0) return;
    // A replica that is paused does not apply what it is sent.
    if (this.isPaused) return;
    this.#copy(found);
    this.#linkedTo = found;
    this.#hear(found, nowMs);
  }

  #hear(primary: SimServer, atMs: number): void {
    this.heardMs = atMs;
    primary.#heard.set(this.runId, { server: this, atMs });
  }

  #copy(primary: SimServer): void {
    const lineages = [primary.replicationId, primary.secondReplicationId];
    if (!lineages.includes(this.replicationId)) {
      this.files.before ??= contentOf(this.files);
      this.files.version = minorOf(this.version);
      this.rewritesUntilMs = this.#world.now() + rewriteMs;
      this.#world.parts.clock.timer(rewriteMs, () => this.isRewriting);
    }
    this.files.keys.clear();
    for (const [key, value] of primary.files.keys) this.files.keys.set(key, value);
    this.files.lineage = primary.files.lineage;
    this.replicationId = primary.replicationId;
    this.secondReplicationId = primary.secondReplicationId;
    this.secondOffset = primary.secondOffset;
    this.offset = primary.offset;
  }

  get takesWrites(): boolean {
    if (this.role !== "primary" || this.isPaused || this.volume.full) return false;
    return this.closeReplicas >= this.guard;
  }

  write(key: string, value: string): number | undefined {
    return this.#world.write(this, key, value);
  }

  lead(): void {
    if (this.role === "primary") return;
    this.role = "primary";
    this.upstream = undefined;
    this.#linkedTo = undefined;
    this.secondReplicationId = this.replicationId;
    this.secondOffset = this.offset + 1n;
    this.replicationId = this.#world.newId();
  }

  follow(upstream: Upstream): void {
    this.role = "replica";
    this.upstream = upstream;
    this.#linkedTo = undefined;
    this.settle();
  }

  freeze(frozen: boolean): void {
    this.frozen = frozen;
    this.#start.changed();
  }

  stop(): void {
    this.#end({ exitCode: 0, message: "" });
  }

  kill(): void {
    this.#end({ exitCode: 137, message: "" });
  }

  #end(end: ContainerEnd): void {
    if (this.ended) return;
    if (this.isRewriting) loseUnwritten(this.files);
    this.ended = end;
    this.#world.servers.delete(this);
    this.#world.settle();
    this.#start.changed();
  }
}
