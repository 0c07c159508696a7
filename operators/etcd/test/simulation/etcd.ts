/** etcd without processes: members start from volumes, elect leaders, and end as the real server does. */
import { hash } from "node:crypto";
import type {
  Application,
  ApplicationParts,
  ContainerEnd,
  ContainerStart,
  SimulatedProcess,
  SimulatedVolume,
} from "@keelson/testing";
import { type DataDirectory, electionMs, Group, type GroupWorld, type Node } from "./raft.ts";
import { isTask, SimTasks } from "./tasks.ts";
import { isTrusted } from "./trust.ts";

/** Whom a member trusts since it started, and what it shows now. */
export interface TlsFiles {
  readonly trust: string;
  readonly leaf: () => string;
}

/** How a member's container is started. */
export interface StartRequest {
  /** By use; without it plain text is spoken. */
  readonly tls: Readonly<Record<"peer" | "client", TlsFiles | undefined>>;
  readonly member: string;
  readonly peerUrl: string;
  readonly version: string;
  readonly token: string;
  readonly initialCluster: string;
  readonly state: string;
  readonly force: boolean;
  readonly quotaBytes: number;
}

/** Time acts on groups for this long after the last thing that happened to one. */
const restlessMs = 5_000;
const tickMs = 500;

export class SimEtcd implements Application, GroupWorld {
  readonly violations: string[] = [];
  readonly processes = new Set<SimProcess>();
  readonly groups = new Map<string, Group>();
  readonly tasks: SimTasks;
  readonly parts: ApplicationParts;
  /** Versions whose members do not come up, though the program itself runs. */
  readonly brokenVersions = new Set<string>();
  #draws = 0;
  #restlessUntil = 0;
  #ticking = false;

  constructor(parts: ApplicationParts) {
    this.parts = parts;
    this.tasks = new SimTasks(this);
    parts.network.onChange = () => this.stir();
  }

  now(): number {
    return this.parts.clock.monotonic();
  }

  violation(message: string): void {
    this.violations.push(message);
  }

  // ------------------------------------------------------------------------------------ time

  /** Something happened: what follows from it follows in the next seconds. */
  stir(): void {
    this.#restlessUntil = this.now() + restlessMs;
    if (this.#ticking) return;
    this.#ticking = true;
    const tick = () => {
      this.tick();
      if (this.now() >= this.#restlessUntil) this.#ticking = false;
      else this.parts.clock.timer(tickMs, tick);
    };
    this.parts.clock.timer(tickMs, tick);
  }

  /** Lets time act on every group, and has probes look at what changed. */
  tick(): void {
    for (const group of this.groups.values()) group.tick();
    for (const process of this.processes) process.look();
  }

  // ------------------------------------------------------------------------------------ starting

  start(start: ContainerStart): SimulatedProcess | ContainerEnd {
    if (isTask(start)) return this.tasks.start(start);
    if (start.container.command?.includes("--version")) return { exitCode: 0, message: "" };
    const volume = start.volume("data");
    const result = volume ? this.#startMember(requestOf(start), volume, start) : "its volume is not mounted";
    return typeof result === "string" ? { exitCode: 1, message: result } : result;
  }

  #startMember(request: StartRequest, volume: SimulatedVolume, start: ContainerStart): SimProcess | string {
    if (volume.corrupt) return "walpb: crc mismatch";
    if (volume.full) return "no space left on device";
    if (this.brokenVersions.has(request.version)) return "flag provided but not defined";
    const minor = Number(request.version.split(".")[1]);
    const data = volume.data as DataDirectory | undefined;
    if (!data) return this.#firstStart(request, volume, minor, start);
    const { group } = data;
    if (minor < group.clusterMinor)
      return "invalid downgrade; server version is lower than determined cluster version";
    if (minor > group.clusterMinor + 1 && group.clusterMinor > 0) return "incompatible cluster version";
    if (!request.force && this.#differsFromPeers(data))
      return `${data.memberId} found data inconsistency with peers`;
    if (request.force) this.#forceNewCluster(request, data);
    else if (!group.members().has(data.memberId)) {
      return "the member has been permanently removed from the cluster";
    }
    return this.#run(request, data, minor, start);
  }

  /** The check before a member serves: other data on one other member is enough, whichever of the two is wrong. */
  #differsFromPeers({ group, memberId, wrong = false }: DataDirectory): boolean {
    return [...group.nodes.values()].some(
      (peer) => peer.running() && peer.data.memberId !== memberId && (peer.data.wrong ?? false) !== wrong,
    );
  }

  #firstStart(
    request: StartRequest,
    volume: SimulatedVolume,
    minor: number,
    start: ContainerStart,
  ): SimProcess | string {
    if (request.state === "new") {
      const clusterId = idOf(`${request.token}|${request.initialCluster}`);
      if (this.groups.has(clusterId))
        this.violation(`${request.member} formed cluster ${clusterId} a second time`);
      const id = idOf(`${request.token}|${request.peerUrl}`);
      const data = this.form(clusterId, id, request);
      volume.data = data;
      return this.#run(request, data, minor, start);
    }
    const urls = new Map(
      request.initialCluster.split(",").map((pair) => pair.split("=") as [string, string]),
    );
    const others = [...urls].filter(([name]) => name !== request.member).map(([, url]) => url);
    const peer = [...this.processes].find(
      (process) =>
        process.running() &&
        others.includes(process.request.peerUrl) &&
        this.parts.network.connected(process.name, request.member) &&
        (!request.tls.peer || isTrusted(process.request.tls.peer?.leaf() ?? "", request.tls.peer.trust)),
    );
    if (!peer) return "could not retrieve cluster information from the given URLs";
    const { group } = peer.data;
    const members = group.members();
    if (members.size !== urls.size) return "member count is unequal";
    const own = [...members.values()].find(({ peerUrl }) => peerUrl === request.peerUrl);
    if (!own) return "unmatched member while checking PeerURLs";
    // One of a newer minor may join, and keeps to what the others agreed on.
    if (minor < group.clusterMinor) return "incompatible with current running cluster";
    if (own.name !== "" && !own.learner)
      this.violation(`the voter ${request.member} started over an empty volume`);
    const data: DataDirectory = { group, memberId: own.id, index: 0, term: 1 };
    volume.data = data;
    return this.#run(request, data, minor, start);
  }

  /** A group of one, with these entries before it. */
  form(
    clusterId: string,
    id: string,
    { peerUrl, member }: Pick<StartRequest, "peerUrl" | "member">,
    before: Group["log"] = [],
  ): DataDirectory {
    const group = new Group(clusterId, this, [
      ...before,
      { type: "add", member: { id, peerUrl, learner: false } },
      { type: "name", id, name: member },
    ]);
    this.groups.set(clusterId, group);
    return { group, memberId: id, index: group.log.length, term: 1 };
  }

  #run(request: StartRequest, data: DataDirectory, minor: number, start: ContainerStart): SimProcess {
    const process = new SimProcess(this, request, data, minor, start, this.now());
    for (const other of this.processes) {
      const strangers = other.data.group === data.group && other.running() && !this.#trust(process, other);
      if (strangers)
        this.violation(`${process.name} starts, and it and ${other.name} do not trust each other`);
    }
    this.#enter(process);
    return process;
  }

  #enter(process: SimProcess): void {
    this.processes.add(process);
    process.data.group.nodes.set(process.data.memberId, process);
    this.stir();
  }

  #forceNewCluster(request: StartRequest, data: DataDirectory): void {
    const old = data.group;
    const alive = [...old.nodes.values()].filter((node) => node.running());
    if (alive.length > 0)
      this.violation(`${request.member} forced a new cluster while members of the old one run`);
    const kept = old.log.slice(0, data.index);
    const drops = [...old.members(data.index).keys()]
      .filter((id) => id !== data.memberId)
      .map((id) => ({ type: "remove" as const, id }));
    const group = new Group(old.clusterId, this, [...kept, ...drops]);
    this.groups.set(old.clusterId, group);
    group.clusterMinor = old.clusterMinor;
    group.password = old.password;
    data.group = group;
    data.index = group.log.length;
  }

  // ------------------------------------------------------------------------------------ lines

  /** Nobody is in the way, answers come before the next election would begin, and each trusts what the other shows. */
  connected(a: Node, b: Node): boolean {
    const [one, other] = [a as SimProcess, b as SimProcess];
    return this.parts.network.connected(one.name, other.name, electionMs) && this.#trust(one, other);
  }

  #trust(a: SimProcess, b: SimProcess): boolean {
    if (!this.#isWhereOthersLook(a) || !this.#isWhereOthersLook(b)) return false;
    const [one, other] = [a.request.tls.peer, b.request.tls.peer];
    if (!one || !other) return one === other;
    return isTrusted(other.leaf(), one.trust) && isTrusted(one.leaf(), other.trust);
  }

  /** The others dial the URL that is in the data, whatever its flags say. */
  #isWhereOthersLook({ data, request }: SimProcess): boolean {
    const { peerUrl = request.peerUrl } = data.group.members().get(data.memberId) ?? {};
    return peerUrl.startsWith(request.tls.peer ? "https:" : "http:");
  }

  drawId(): string {
    return idOf(`drawn/${++this.#draws}`);
  }

  // ------------------------------------------------------------------------------------ clients

  /** The one group that there is. */
  get group(): Group {
    const [group] = [...this.groups.values()].slice(-1);
    if (!group) throw new Error("no cluster was formed");
    return group;
  }

  /** Writes as a client would that knows every member, retried by the caller; true when it was acknowledged. */
  put(key: string, value: string): boolean {
    const [group] = [...this.groups.values()].slice(-1);
    return group !== undefined && this.write(group, key, value);
  }

  write(group: Group, key: string, value: string): boolean {
    if (group.alarms.length > 0) return false;
    // Found out by a member that applies the write, and told through the log: one that is cut off does neither.
    const full = [...this.processes].find(
      (each) => each.data.group === group && each.isFull && each.running() && group.served(each),
    );
    if (full) {
      group.alarms.push({ memberId: full.data.memberId, type: "NOSPACE" });
      this.stir();
      return false;
    }
    const done = group.leader !== undefined && group.propose({ type: "put", key, value });
    if (done) group.history += 200;
    return done;
  }

  // ------------------------------------------------------------------------------------ keeping

  /** What it has now, for `restore`, which copies it: nothing may happen here any more. */
  save(): SavedEtcd {
    return {
      groups: [...this.groups.values()],
      processes: [...this.processes],
      draws: this.#draws,
      vault: this.tasks.save(),
    };
  }

  restore(state: unknown, volumes: ReadonlyMap<string, SimulatedVolume>): void {
    const saved = state as SavedEtcd;
    this.#draws = saved.draws;
    this.tasks.restore(saved.vault);
    const groups = new Map(saved.groups.map((group) => [group, group.copy(this)]));
    for (const group of groups.values()) this.groups.set(group.clusterId, group);
    const directories = new Map<DataDirectory, DataDirectory>();
    for (const volume of volumes.values()) {
      const data = volume.data as DataDirectory | undefined;
      if (!data) continue;
      const copy = { ...data, group: groups.get(data.group) ?? data.group.copy(this) };
      directories.set(data, copy);
      volume.data = copy;
    }
    for (const process of saved.processes) {
      const data = directories.get(process.data);
      if (data) this.#resumable.set(process.start.pod.metadata.uid, { process, data });
    }
    this.#leaders = () => {
      for (const [before, group] of groups) group.continueLead(before);
    };
  }

  readonly #resumable = new Map<string, { readonly process: SimProcess; readonly data: DataDirectory }>();
  #leaders: () => void = () => {};

  resume(podUid: string, start: ContainerStart): SimulatedProcess | undefined {
    const found = this.#resumable.get(podUid);
    if (!found) return undefined;
    const { process, data } = found;
    const again = new SimProcess(this, requestOf(start), data, process.minor, start, process.startedMs);
    again.serves = process.serves;
    this.processes.add(again);
    data.group.nodes.set(data.memberId, again);
    this.#leaders();
    return again;
  }
}

interface SavedEtcd {
  readonly groups: readonly Group[];
  readonly processes: readonly SimProcess[];
  readonly draws: number;
  readonly vault: ReturnType<SimTasks["save"]>;
}

export class SimProcess implements Node, SimulatedProcess {
  readonly world: SimEtcd;
  readonly request: StartRequest;
  readonly data: DataDirectory;
  readonly minor: number;
  readonly startedMs: number;
  readonly start: ContainerStart;
  ended: ContainerEnd | undefined;
  frozen = false;
  /** The last compaction that it took part in, whose hash it remembers. */
  compaction: { readonly revision: number; readonly from: number } | undefined;
  /** It takes connections from the start, and answers clients from the moment that it has once had a quorum. */
  serves = false;
  #toldReady = false;

  constructor(
    world: SimEtcd,
    request: StartRequest,
    data: DataDirectory,
    minor: number,
    start: ContainerStart,
    startedMs: number,
  ) {
    this.world = world;
    this.request = request;
    this.data = data;
    this.minor = minor;
    this.start = start;
    this.startedMs = startedMs;
  }

  get name(): string {
    return this.request.member;
  }

  running = (): boolean => this.ended === undefined && !this.frozen;

  get live(): boolean {
    return !this.frozen;
  }

  get inUseBytes(): number {
    return 20_480 + this.data.group.history + this.data.group.ballast;
  }

  get fileBytes(): number {
    this.data.fileBytes = Math.max(this.data.fileBytes ?? 0, this.inUseBytes);
    return this.data.fileBytes;
  }

  get isFull(): boolean {
    const { quotaBytes } = this.request;
    return quotaBytes > 0 && this.fileBytes >= quotaBytes;
  }

  /** It hangs: neither peers nor probes get an answer. */
  freeze(frozen: boolean): void {
    this.frozen = frozen;
    this.world.stir();
    this.start.changed();
  }

  stop(): void {
    if (this.running()) this.data.group.stepDown(this);
    this.#end({ exitCode: 0, message: "" });
  }

  kill(): void {
    this.#end({ exitCode: 255, message: "" });
  }

  #end(end: ContainerEnd): void {
    if (this.ended) return;
    this.ended = end;
    this.world.processes.delete(this);
    const { nodes } = this.data.group;
    if (nodes.get(this.data.memberId) === this) nodes.delete(this.data.memberId);
    this.data.group.tick();
    this.world.stir();
    this.start.changed();
  }

  /** As `/readyz` says: a voter that reaches a leader, and an alarm about corrupt data counts for every member. */
  get ready(): boolean {
    const { group, memberId } = this.data;
    const own = group.members().get(memberId);
    const isAlarmed = !this.#ignoresCorruption && group.alarms.some(({ type }) => type === "CORRUPT");
    return this.running() && own !== undefined && !own.learner && group.served(this) && !isAlarmed;
  }

  get #ignoresCorruption(): boolean {
    const { path = "" } = this.start.container.readinessProbe?.httpGet ?? {};
    return new URL(path, "http://etcd").searchParams.getAll("exclude").includes("data_corruption");
  }

  serveWhenPublished(): void {
    this.serves ||= this.running() && this.data.group.served(this);
  }

  /** From its own log, or because any other member that knows turns it away: a leader is not needed for it. */
  #learnsOfRemoval(): boolean {
    const { group, memberId } = this.data;
    if (group.leader) return true;
    return [...group.nodes.values()].some(
      (node) =>
        node.running() &&
        (node === this || this.world.connected(this, node)) &&
        !group.members(node.data.index).has(memberId),
    );
  }

  /** What it does by itself: it publishes its name, learns of its own removal, and is seen to be ready or not. */
  look(): void {
    const { group, memberId } = this.data;
    const own = group.members().get(memberId);
    if (!own && this.running() && this.#learnsOfRemoval()) {
      this.#end({ exitCode: 1, message: "the member has been permanently removed from the cluster" });
      return;
    }
    if (own?.name === "" && this.running() && group.served(this) && this.data.index > 0)
      group.propose({ type: "name", id: memberId, name: this.name });
    this.serveWhenPublished();
    const { ready } = this;
    if (ready === this.#toldReady) return;
    this.#toldReady = ready;
    this.start.changed();
  }
}

/** A uint64 in decimal, the same for the same text. */
export function idOf(text: string): string {
  return BigInt(`0x${hash("sha256", text).slice(0, 15)}`).toString();
}

function requestOf(start: ContainerStart): StartRequest {
  const { container, environment, pod } = start;
  const flag = (name: string) =>
    container.command?.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "";
  const tls = (use: "peer" | "client"): TlsFiles | undefined => {
    if (!pod.spec?.volumes?.some(({ name }) => name === `${use}-tls`)) return undefined;
    const files = start.files(`${use}-tls`);
    return { trust: files["ca.crt"] ?? "", leaf: () => start.files(`${use}-tls`)["tls.crt"] ?? "" };
  };
  return {
    member: flag("name"),
    peerUrl: flag("initial-advertise-peer-urls"),
    version: (container.image?.split(":").pop() ?? "").replace(/^v/, ""),
    token: flag("initial-cluster-token"),
    // The environment is resolved at every start of the container, from the pod as it is then.
    initialCluster: environment["ETCD_INITIAL_CLUSTER"] ?? "",
    state: environment["ETCD_INITIAL_CLUSTER_STATE"] ?? "",
    force: environment["ETCD_FORCE_NEW_CLUSTER"] === "true",
    tls: { peer: tls("peer"), client: tls("client") },
    quotaBytes: Number(flag("quota-backend-bytes")),
  };
}
