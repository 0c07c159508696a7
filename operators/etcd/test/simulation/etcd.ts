/** etcd without processes: members start from volumes, answer calls, and refuse what the real server refuses. */
import { hash } from "node:crypto";
import { EtcdError } from "../../src/engine/errors.ts";
import type {
  Alarm,
  Authentication,
  Etcd,
  EtcdAddress,
  EtcdMember,
  KeyHash,
  MemberList,
  MemberStatus,
  Versions,
} from "../../src/engine/etcd.ts";
import { majority } from "../../src/engine/quorum.ts";
import { type DataDirectory, Group, type Node, type SimMember } from "./raft.ts";
import { isTrusted } from "./trust.ts";

export interface Volume {
  data?: DataDirectory;
  corrupt?: boolean;
}

/** How a container is started. */
/** Whom a member trusts since it started, and what it shows now. */
export interface TlsFiles {
  readonly trust: string;
  readonly leaf: () => string;
}

export interface StartRequest {
  /** By use. Default: no TLS. */
  readonly tls: Readonly<Record<"peer" | "client", TlsFiles | undefined>>;
  readonly member: string;
  readonly host: string;
  readonly peerUrl: string;
  readonly version: string;
  readonly token: string;
  readonly initialCluster: string;
  readonly state: string;
  readonly force: boolean;
  readonly quotaBytes: number;
}

export type StartResult = { readonly process: SimProcess } | { readonly terminationMessage: string };

/** What an interceptor may do to a call before it takes effect. */
export type Intercept = (call: {
  readonly member: string;
  readonly method: string;
  readonly write: boolean;
}) => "proceed" | "lose-answer" | "refuse" | "die-before" | "die-after";

export interface SimEtcdOptions {
  readonly now: () => number;
  readonly touch: () => void;
}

export class SimEtcd {
  readonly violations: string[] = [];
  readonly processes = new Set<SimProcess>();
  /** Pairs of members that cannot talk to each other. */
  readonly cuts = new Set<string>();
  /** Members that the operator cannot reach. */
  readonly hidden = new Set<string>();
  readonly groups = new Map<string, Group>();
  intercept: Intercept = () => "proceed";
  onDeath: () => void = () => {};
  readonly options: SimEtcdOptions;
  #draws = 0;

  constructor(options: SimEtcdOptions) {
    this.options = options;
  }

  violation(message: string): void {
    this.violations.push(message);
  }

  start(request: StartRequest, volume: Volume): StartResult {
    if (volume.corrupt) return { terminationMessage: "walpb: crc mismatch" };
    const minor = Number(request.version.split(".")[1]);
    const data = volume.data;
    if (!data) return this.#firstStart(request, volume, minor);
    const { group } = data;
    if (minor < group.clusterMinor) return { terminationMessage: "cluster cannot be downgraded" };
    if (minor > group.clusterMinor + 1 && group.clusterMinor > 0)
      return { terminationMessage: "incompatible cluster version" };
    if (request.force) this.#forceNewCluster(request, data);
    else if (!data.group.members().has(data.memberId)) {
      return { terminationMessage: "the member has been permanently removed from the cluster" };
    }
    return { process: this.#run(request, data, minor) };
  }

  #firstStart(request: StartRequest, volume: Volume, minor: number): StartResult {
    if (request.state === "new") {
      const clusterId = this.#id(`${request.token}|${request.initialCluster}`);
      if (this.groups.has(clusterId))
        this.violation(`${request.member} formed cluster ${clusterId} a second time`);
      const id = this.#id(`${request.token}|${request.peerUrl}`);
      const group = this.#group(clusterId, [
        { type: "add", member: { id, peerUrl: request.peerUrl, learner: false } },
        { type: "name", id, name: request.member },
      ]);
      volume.data = { group, memberId: id, index: group.log.length, term: 1 };
      return { process: this.#run(request, volume.data, minor) };
    }
    const urls = new Map(
      request.initialCluster.split(",").map((pair) => pair.split("=") as [string, string]),
    );
    const others = [...urls].filter(([name]) => name !== request.member).map(([, url]) => url);
    const peer = [...this.processes].find(
      (process) =>
        process.running() &&
        others.includes(process.request.peerUrl) &&
        !this.#cut(process.name, request.member) &&
        (!request.tls.peer || isTrusted(process.request.tls.peer?.leaf() ?? "", request.tls.peer.trust)),
    );
    if (!peer) return { terminationMessage: "could not retrieve cluster information from the given URLs" };
    const { group } = peer.data;
    const members = group.members();
    if (members.size !== urls.size) return { terminationMessage: "member count is unequal" };
    const own = [...members.values()].find(({ peerUrl }) => peerUrl === request.peerUrl);
    if (!own) return { terminationMessage: "unmatched member while checking PeerURLs" };
    if (own.name !== "" && !own.learner)
      this.violation(`the voter ${request.member} started over an empty volume`);
    volume.data = { group, memberId: own.id, index: 0, term: 1 };
    return { process: this.#run(request, volume.data, minor) };
  }

  #run(request: StartRequest, data: DataDirectory, minor: number): SimProcess {
    const process = new SimProcess(this, request, data, minor);
    for (const other of this.processes) {
      const unknownMembers =
        other.data.group === data.group && other.running() && !this.#trust(process, other);
      if (unknownMembers)
        this.violation(`${process.name} starts, and it and ${other.name} do not trust each other`);
    }
    this.processes.add(process);
    data.group.nodes.set(data.memberId, process);
    data.group.tick();
    return process;
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
    const group = this.#group(old.clusterId, [...kept, ...drops]);
    group.clusterMinor = old.clusterMinor;
    group.password = old.password;
    data.group = group;
    data.index = group.log.length;
  }

  #group(clusterId: string, log: ConstructorParameters<typeof Group>[1]): Group {
    const group = new Group(
      {
        clusterId,
        now: this.options.now,
        connected: (a, b) => this.#connected(a as SimProcess, b as SimProcess),
        violation: (message) => this.violation(message),
      },
      log,
    );
    this.groups.set(clusterId, group);
    return group;
  }

  /** The network lets them through, and each trusts the certificate of the other. */
  #connected(a: SimProcess, b: SimProcess): boolean {
    return !this.#cut(a.name, b.name) && this.#trust(a, b);
  }

  #trust(a: SimProcess, b: SimProcess): boolean {
    const [one, other] = [a.request.tls.peer, b.request.tls.peer];
    if (!one || !other) return one === other;
    return isTrusted(other.leaf(), one.trust) && isTrusted(one.leaf(), other.trust);
  }

  #cut(a: string, b: string): boolean {
    return this.cuts.has(`${a}|${b}`) || this.cuts.has(`${b}|${a}`);
  }

  /** A uint64 in decimal, the same for the same text. */
  #id(text: string): string {
    return BigInt(`0x${hash("sha256", text).slice(0, 15)}`).toString();
  }

  drawId(): string {
    return this.#id(`drawn/${++this.#draws}`);
  }

  /** Lets time act on every group. */
  tick(): void {
    for (const group of this.groups.values()) group.tick();
  }

  /** The one group that there is. */
  get group(): Group {
    const [group] = [...this.groups.values()].slice(-1);
    if (!group) throw new Error("no cluster was formed");
    return group;
  }

  /** Writes as a client would, retried by the caller; true when it was acknowledged. */
  put(key: string, value: string): boolean {
    const [group] = [...this.groups.values()].slice(-1);
    if (!group || group.alarms.length > 0) return false;
    const full = [...this.processes].find((each) => each.data.group === group && each.isFull);
    if (full) {
      group.alarms.push({ memberId: full.data.memberId, type: "NOSPACE" });
      return false;
    }
    const done = group.leader !== undefined && group.propose({ type: "put", key, value });
    if (done) group.history += 200;
    return done;
  }
}

export class SimProcess implements Node {
  readonly world: SimEtcd;
  readonly request: StartRequest;
  readonly data: DataDirectory;
  readonly minor: number;
  readonly startedMs: number;
  #stopped = false;
  frozen = false;

  constructor(world: SimEtcd, request: StartRequest, data: DataDirectory, minor: number) {
    this.world = world;
    this.request = request;
    this.data = data;
    this.minor = minor;
    this.startedMs = world.options.now();
  }

  get name(): string {
    return this.request.member;
  }

  running = (): boolean => !this.#stopped && !this.frozen;

  get stopped(): boolean {
    return this.#stopped;
  }

  get inUseBytes(): number {
    return 20_480 + this.data.group.history;
  }

  get fileBytes(): number {
    this.data.fileBytes = Math.max(this.data.fileBytes ?? 0, this.inUseBytes);
    return this.data.fileBytes;
  }

  get isFull(): boolean {
    const { quotaBytes } = this.request;
    return quotaBytes > 0 && this.fileBytes >= quotaBytes;
  }

  /** It learns of its own removal and ends. */
  get removed(): boolean {
    return !this.data.group.members().has(this.data.memberId);
  }

  stop(): void {
    if (!this.#stopped && this.running()) this.data.group.stepDown(this);
    this.kill();
  }

  kill(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.world.processes.delete(this);
    const { nodes } = this.data.group;
    if (nodes.get(this.data.memberId) === this) nodes.delete(this.data.memberId);
    this.data.group.tick();
  }

  /** As `/readyz` says: a voter that reaches a leader. */
  get ready(): boolean {
    const own = this.data.group.members().get(this.data.memberId);
    return this.running() && own !== undefined && !own.learner && this.data.group.served(this);
  }

  /** Publishes its name once it is a member in good standing. */
  publish(): void {
    const { group, memberId } = this.data;
    const own = group.members().get(memberId);
    if (own && own.name === "" && this.running() && group.served(this) && this.data.index > 0) {
      group.propose({ type: "name", id: memberId, name: this.name });
    }
  }
}

/** The calls of the operator to one member. */
export class SimClient implements Etcd {
  readonly #process: SimProcess;
  readonly #address: Pick<EtcdAddress, "tls" | "credentials">;

  constructor(process: SimProcess, address: Pick<EtcdAddress, "tls" | "credentials"> = {}) {
    this.#process = process;
    this.#address = address;
  }

  /** As a handshake would end. */
  #handshake(): void {
    const { tls } = this.#address;
    const { client } = this.#process.request.tls;
    if (!client && !tls) return;
    const good = client && tls?.cert && isTrusted(client.leaf(), tls.ca) && isTrusted(tls.cert, client.trust);
    if (!good) refuse("Unreachable", "the handshake failed");
  }

  async authentication(): Promise<Authentication> {
    return await this.#call("authentication", false, ({ data }) => {
      const { password } = data.group;
      const { credentials } = this.#address;
      if (password === undefined) return "off";
      if (credentials?.password !== password) return "out";
      if (credentials.session) credentials.session.token = "token";
      return "in";
    });
  }

  async enableAuthentication(): Promise<void> {
    await this.#call("enableAuthentication", true, (process) => {
      this.#voter(process).password = this.#address.credentials?.password ?? "";
    });
  }

  async changePassword(password: string): Promise<void> {
    await this.#call("changePassword", true, (process) => {
      this.#voter(process).password = password;
    });
  }

  async status(): Promise<MemberStatus> {
    return await this.#call("status", false, ({ data, request }) => {
      const { group } = data;
      const { leader } = group;
      const own = group.members(data.index).get(data.memberId);
      return {
        clusterId: group.clusterId,
        memberId: data.memberId,
        version: request.version,
        revision: BigInt(group.revision(data.index)),
        raftTerm: BigInt(data.term),
        raftIndex: BigInt(data.index),
        appliedIndex: BigInt(data.index),
        leader: leader && group.served(this.#process) ? leader.data.memberId : undefined,
        learner: own?.learner ?? true,
        dbSizeBytes: BigInt(this.#process.fileBytes),
        dbSizeInUseBytes: BigInt(this.#process.inUseBytes),
        errors: [],
      };
    });
  }

  async versions(): Promise<Versions> {
    return await this.#call("versions", false, ({ data, request }) => ({
      server: request.version,
      cluster: `3.${data.group.clusterMinor}.0`,
    }));
  }

  async members(): Promise<MemberList> {
    return await this.#call("members", false, (process) => this.#list(this.#voter(process)));
  }

  async addLearner(peerUrls: readonly string[]): Promise<MemberList & { added: EtcdMember }> {
    return await this.#call("addLearner", true, (process) => {
      const group = this.#voter(process);
      const members = [...group.members().values()];
      const [peerUrl = ""] = peerUrls;
      if (members.some((member) => member.peerUrl === peerUrl))
        refuse("PeerUrlExists", "Peer URLs already exists");
      if (members.some(({ learner }) => learner))
        refuse("TooManyLearners", "too many learner members in cluster");
      const voters = group.voters().length;
      if (group.activeVoters().length < Math.min(voters, majority(voters + 1))) {
        refuse("UnhealthyCluster", "unhealthy cluster");
      }
      const member: SimMember = { id: process.world.drawId(), peerUrl, learner: true };
      commit(group, { type: "add", member });
      return { ...this.#list(group), added: entry({ ...member, name: "" }) };
    });
  }

  async promote(id: string): Promise<void> {
    await this.#call("promote", true, (process) => {
      const group = this.#voter(process);
      const member = group.members().get(id);
      if (!member) return refuse("MemberNotFound", "member not found");
      if (!member.learner) return refuse("Refused", "can only promote a learner member");
      const node = group.nodes.get(id);
      if (!node?.running() || node.data.index < group.log.length * 0.9 || !group.served(node)) {
        refuse("LearnerNotReady", "can only promote a learner member which is in sync with leader");
      }
      if (node && node.data.index < group.log.length)
        process.world.violation(`a learner that lags was promoted`);
      commit(group, { type: "promote", id });
    });
  }

  async remove(id: string): Promise<void> {
    await this.#call("remove", true, (process) => {
      const group = this.#voter(process);
      const member = group.members().get(id);
      if (!member) return;
      const active = group.activeVoters();
      const voters = group.voters();
      const rest = voters.filter((voter) => voter.id !== id);
      const running = rest.filter((voter) => {
        const node = group.nodes.get(voter.id);
        return node?.running() && group.served(node);
      });
      if (
        !member.learner &&
        active.includes(id) &&
        active.length - 1 < 1 + Math.floor((voters.length - 1) / 2)
      ) {
        refuse("UnhealthyCluster", "unhealthy cluster");
      }
      if (!member.learner && running.length < majority(rest.length)) {
        process.world.violation(`removing ${member.name} leaves ${running.length} of ${rest.length} voters`);
      }
      if (group.leader?.data.memberId === id)
        process.world.violation(`the leader ${member.name} was removed`);
      commit(group, { type: "remove", id });
    });
  }

  async updatePeerUrls(): Promise<void> {
    refuse("Refused", "not simulated");
  }

  async moveLeader(to: string): Promise<void> {
    await this.#call("moveLeader", true, (process) => {
      const group = this.#voter(process);
      if (group.leader !== process) refuse("NotLeader", "not leader");
      if (!group.transfer(to)) refuse("Refused", "bad leader transferee");
    });
  }

  async alarms(): Promise<readonly Alarm[]> {
    return await this.#call("alarms", false, (process) => [...this.#voter(process).alarms]);
  }

  async disarm(alarm: Alarm): Promise<void> {
    await this.#call("disarm", true, (process) => {
      const { alarms } = this.#voter(process);
      const at = alarms.findIndex(({ memberId, type }) => memberId === alarm.memberId && type === alarm.type);
      if (at >= 0) alarms.splice(at, 1);
    });
  }

  async defragment(): Promise<void> {
    await this.#call("defragment", true, (process) => {
      process.data.fileBytes = process.inUseBytes;
    });
  }

  async hashKv(revision: bigint): Promise<KeyHash> {
    return await this.#call("hashKv", false, ({ data }) => {
      const puts = data.group.log.slice(0, data.index).filter(({ type }) => type === "put");
      const text = JSON.stringify([puts.slice(0, Number(revision) - 1), data.wrong ?? false]);
      return { hash: hash("sha256", text).slice(0, 8), compactRevision: 0n, revision };
    });
  }

  async get(key: string): Promise<{ value: string | undefined; revision: bigint }> {
    return await this.#call("get", false, (process) => {
      const group = this.#voter(process);
      return { value: group.keys().get(key), revision: BigInt(group.revision()) };
    });
  }

  async put(key: string, value: string): Promise<{ revision: bigint }> {
    return await this.#call("put", true, (process) => {
      const group = this.#voter(process);
      commit(group, { type: "put", key, value });
      return { revision: BigInt(group.revision()) };
    });
  }

  async count(): Promise<number> {
    return await this.#call("count", false, (process) => this.#voter(process).keys().size);
  }

  async compact(): Promise<void> {
    await this.#call("compact", true, (process) => {
      this.#voter(process).history = 0;
    });
  }

  async *snapshot(): AsyncIterable<Uint8Array> {
    yield await Promise.reject(new EtcdError("Refused", "not simulated"));
  }

  #list(group: Group): MemberList {
    return { clusterId: group.clusterId, members: [...group.members().values()].map(entry) };
  }

  /** The group, when this member may answer for it. */
  #voter({ data }: SimProcess): Group {
    const { group } = data;
    const own = group.members().get(data.memberId);
    if (own?.learner) refuse("NotSupportedForLearner", "rpc not supported for learner");
    if (!group.served(this.#process)) refuse("NoLeader", "no leader");
    return group;
  }

  async #call<T>(method: string, write: boolean, work: (process: SimProcess) => T): Promise<T> {
    const process = this.#process;
    const { world, name } = process;
    world.options.touch();
    if (!process.running() || world.hidden.has(name)) refuse("Unreachable", `no answer from ${name}`);
    const fate = world.intercept({ member: name, method, write });
    if (fate === "refuse") refuse("Unreachable", `no answer from ${name}`);
    if (fate === "die-before") return await dead(world);
    this.#handshake();
    const { password } = process.data.group;
    const open = method === "status" || method === "versions" || method === "authentication";
    if (!open && password !== undefined && this.#address.credentials?.password !== password)
      refuse("Unauthenticated", "user name is empty");
    process.data.group.tick();
    const result = work(process);
    if (fate === "die-after") return await dead(world);
    if (fate === "lose-answer") refuse("Unreachable", `the answer of ${name} was lost`);
    return result;
  }
}

async function dead(world: SimEtcd): Promise<never> {
  world.onDeath();
  return await new Promise<never>(() => {});
}

function commit(group: Group, proposal: Parameters<Group["propose"]>[0]): void {
  if (!group.propose(proposal)) refuse("Unreachable", "request timed out");
}

function refuse(code: ConstructorParameters<typeof EtcdError>[0], message: string): never {
  throw new EtcdError(code, message);
}

function entry(member: SimMember & { name: string }): EtcdMember {
  const { id, name, peerUrl, learner } = member;
  return { id, name, peerUrls: [peerUrl], clientUrls: name === "" ? [] : [peerUrl], learner };
}
