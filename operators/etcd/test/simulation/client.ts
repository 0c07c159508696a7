/** The operator's calls to simulated members: over the simulated network, answered as etcd would. */
import { hash } from "node:crypto";
import { LineBroken, operatorName, type Simulation } from "@keelson/testing";
import { EtcdError } from "../../src/engine/errors.ts";
import type {
  Alarm,
  Authentication,
  CallOptions,
  Etcd,
  EtcdAddress,
  EtcdMember,
  KeyHash,
  MemberList,
  MemberProgress,
  MemberStatus,
  Versions,
} from "../../src/engine/etcd.ts";
import { majority } from "../../src/engine/quorum.ts";
import type { SimEtcd, SimProcess } from "./etcd.ts";
import type { Group, NamedMember, SimMember } from "./raft.ts";
import { isTrusted } from "./trust.ts";

/** What a learner may lack that becomes a voter: what a moment's writing comes to, as when its process has restarted. */
const mostLag = 500;

/** A call as the other end sees it. */
interface Received {
  readonly to: string;
  readonly method: string;
  readonly write: boolean;
  readonly timeoutMs: number;
}

/** The calls of the operator to one member. */
export class SimClient implements Etcd {
  readonly #world: SimEtcd;
  readonly #address: EtcdAddress;
  readonly #caller: ReturnType<Simulation["caller"]>;

  /** The address names a pod. The process that runs there when a call arrives answers it. */
  constructor(simulation: Simulation<SimEtcd>, address: EtcdAddress) {
    this.#world = simulation.application;
    this.#address = address;
    this.#caller = simulation.caller(address.host);
  }

  /** As a handshake would end. */
  #handshake(process: SimProcess): void {
    const { tls } = this.#address;
    const { client } = process.request.tls;
    if (!client && !tls) return;
    const good = client && tls?.cert && isTrusted(client.leaf(), tls.ca) && isTrusted(tls.cert, client.trust);
    if (!good) refuse("Unreachable", "the handshake failed");
  }

  async authentication(options?: CallOptions): Promise<Authentication> {
    return await this.#call("authentication", false, options, ({ data }) => {
      const { password } = data.group;
      const { credentials } = this.#address;
      if (password === undefined) return "off";
      if (credentials?.password !== password) return "out";
      if (credentials.session) credentials.session.token = "token";
      return "in";
    });
  }

  async enableAuthentication(options?: CallOptions): Promise<void> {
    await this.#call("enableAuthentication", true, options, (process) => {
      this.#voter(process).password = this.#address.credentials?.password ?? "";
    });
  }

  async changePassword(password: string, options?: CallOptions): Promise<void> {
    await this.#call("changePassword", true, options, (process) => {
      this.#voter(process).password = password;
    });
  }

  async status(options?: CallOptions): Promise<MemberStatus> {
    return await this.#call("status", false, options, (process) => {
      const { data, request } = process;
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
        leader: leader && group.served(process) ? leader.data.memberId : undefined,
        learner: own?.learner ?? true,
        dbSizeBytes: BigInt(process.fileBytes),
        dbSizeInUseBytes: BigInt(process.inUseBytes),
        errors: [],
      };
    });
  }

  async progress(options?: CallOptions): Promise<MemberProgress> {
    return await this.#call("progress", false, options, ({ data: { group, index, memberId } }) => ({
      revision: BigInt(group.revision(index)),
      index: BigInt(index),
      learner: group.members(index).get(memberId)?.learner ?? true,
      peers: [...group.members(index).keys()].filter((id) => id !== memberId),
    }));
  }

  async versions(options?: CallOptions): Promise<Versions> {
    return await this.#call("versions", false, options, ({ data, request }) => ({
      server: request.version,
      cluster: `3.${data.group.clusterMinor}.0`,
    }));
  }

  async members(options?: CallOptions): Promise<MemberList> {
    return await this.#call("members", false, options, (process) => this.#list(this.#voter(process)));
  }

  async localMembers(options?: CallOptions): Promise<MemberList> {
    return await this.#call("localMembers", false, options, ({ data: { group, index } }) => ({
      clusterId: group.clusterId,
      members: [...group.members(index).values()].map(entry),
    }));
  }

  async addLearner(
    peerUrls: readonly string[],
    options?: CallOptions,
  ): Promise<MemberList & { added: EtcdMember }> {
    return await this.#call("addLearner", true, options, (process) => {
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

  async promote(id: string, options?: CallOptions): Promise<void> {
    await this.#call("promote", true, options, (process) => {
      const group = this.#voter(process);
      const member = group.members().get(id);
      if (!member) return refuse("MemberNotFound", "member not found");
      if (!member.learner) return refuse("Refused", "can only promote a learner member");
      const node = group.nodes.get(id);
      if (!node?.running() || node.data.index < group.log.length * 0.9 || !group.served(node)) {
        refuse("LearnerNotReady", "can only promote a learner member which is in sync with leader");
      }
      if (node && group.log.length - node.data.index > mostLag)
        process.world.violation(`a learner that lags was promoted`);
      commit(group, { type: "promote", id });
    });
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    await this.#call("remove", true, options, (process) => {
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

  async moveLeader(to: string, options?: CallOptions): Promise<void> {
    await this.#call("moveLeader", true, options, (process) => {
      const group = this.#voter(process);
      if (group.leader !== process) refuse("NotLeader", "not leader");
      if (!group.transfer(to)) refuse("Refused", "bad leader transferee");
    });
  }

  async alarms(options?: CallOptions): Promise<readonly Alarm[]> {
    return await this.#call("alarms", false, options, (process) => [...this.#voter(process).alarms]);
  }

  async disarm(alarm: Alarm, options?: CallOptions): Promise<void> {
    await this.#call("disarm", true, options, (process) => {
      const { alarms } = this.#voter(process);
      const at = alarms.findIndex(({ memberId, type }) => memberId === alarm.memberId && type === alarm.type);
      if (at >= 0) alarms.splice(at, 1);
    });
  }

  async defragment(options?: CallOptions): Promise<void> {
    await this.#call("defragment", true, options, (process) => {
      process.data.fileBytes = process.inUseBytes;
    });
  }

  async hashKv(revision: bigint, options?: CallOptions): Promise<KeyHash> {
    return await this.#call("hashKv", false, options, ({ data, compaction }) => {
      const { group, index } = data;
      const at = group.revision(index);
      // What a member computed at a compaction it remembers until it ends, and answers with that.
      const isRemembered = compaction && revision > 0n && revision <= BigInt(compaction.revision);
      const { revision: until, from } = isRemembered
        ? compaction
        : { revision: Number(revision) || at, from: group.compacted };
      if (until < from) refuse("Compacted", "etcdserver: mvcc: required revision has been compacted");
      const puts = group.log.slice(0, index).filter(({ type }) => type === "put");
      const text = JSON.stringify([from, puts.slice(0, until - 1), data.wrong ?? false]);
      return {
        hash: hash("sha256", text).slice(0, 8),
        compactRevision: BigInt(from),
        revision: BigInt(at),
      };
    });
  }

  async get(key: string, options?: CallOptions): Promise<{ value: string | undefined; revision: bigint }> {
    return await this.#call("get", false, options, (process) => {
      const group = this.#voter(process);
      return { value: group.keys().get(key), revision: BigInt(group.revision()) };
    });
  }

  async put(key: string, value: string, options?: CallOptions): Promise<{ revision: bigint }> {
    return await this.#call("put", true, options, (process) => {
      const group = this.#voter(process);
      commit(group, { type: "put", key, value });
      return { revision: BigInt(group.revision()) };
    });
  }

  async count(options?: CallOptions): Promise<number> {
    return await this.#call("count", false, options, (process) => this.#voter(process).keys().size);
  }

  async compact(revision: bigint, options?: CallOptions): Promise<void> {
    await this.#call("compact", true, options, (process) => {
      const group = this.#voter(process);
      const until = Number(revision);
      if (until <= group.compacted)
        refuse("Compacted", "etcdserver: mvcc: required revision has been compacted");
      for (const each of process.world.processes)
        if (each.data.group === group) each.compaction = { revision: until, from: group.compacted };
      group.compacted = until;
      group.history = 0;
    });
  }

  async *snapshot(): AsyncIterable<Uint8Array> {
    yield await Promise.reject(new EtcdError("Refused", "not simulated"));
  }

  #list(group: Group): MemberList {
    return { clusterId: group.clusterId, members: [...group.members().values()].map(entry) };
  }

  /** The group, when this member may speak for it. */
  #voter(process: SimProcess): Group {
    const { data } = process;
    const { group } = data;
    const own = group.members().get(data.memberId);
    if (own?.learner) refuse("NotSupportedForLearner", "rpc not supported for learner");
    if (!group.served(process)) refuse("NoLeader", "no leader");
    return group;
  }

  /** Where a call may take minutes, pings tell after five seconds, too, that nobody is there. */
  async #call<T>(
    method: string,
    write: boolean,
    { signal, timeoutMs = 5_000 }: CallOptions = {},
    work: (process: SimProcess) => T,
  ): Promise<T> {
    const { to, life } = this.#caller;
    const line = { from: operatorName, to, life, method, write, timeoutMs, ...(signal && { signal }) };
    try {
      return await this.#world.parts.network.call(line, async () => await this.#answer(line, work));
    } catch (error) {
      if (error instanceof LineBroken) refuse("Unreachable", error.message);
      throw error;
    }
  }

  /** What happens at the other end. */
  async #answer<T>({ to, method, write, timeoutMs }: Received, work: (process: SimProcess) => T): Promise<T> {
    const process = [...this.#world.processes].find(({ name }) => name === to);
    if (!process) throw new LineBroken("ECONNREFUSED", `nothing listens at ${to}`);
    if (process.frozen) return await this.#silence(timeoutMs);
    // The port for metrics.
    if (method === "progress") return work(process);
    process.data.group.tick();
    process.serveWhenPublished();
    if (!process.serves) return await this.#silence(timeoutMs);
    this.#handshake(process);
    const { password } = process.data.group;
    // With TLS a member's gateway shows a certificate of its own, which is enough to be told the status.
    const isTold = method === "status" && process.request.tls.client !== undefined;
    const open = isTold || method === "versions" || method === "authentication";
    if (!open && password !== undefined && this.#address.credentials?.password !== password)
      refuse("Unauthenticated", "user name is empty");
    const result = work(process);
    if (write) this.#world.stir();
    return result;
  }

  /** A process that hangs takes the connection and says nothing. */
  async #silence(timeoutMs: number): Promise<never> {
    await new Promise<void>((resolve) => this.#world.parts.clock.timer(timeoutMs, resolve));
    throw new LineBroken("ETIMEDOUT", `no answer from ${this.#caller.to}`);
  }
}

function commit(group: Group, proposal: Parameters<Group["propose"]>[0]): void {
  if (!group.propose(proposal)) refuse("Unreachable", "request timed out");
}

function refuse(code: ConstructorParameters<typeof EtcdError>[0], message: string): never {
  throw new EtcdError(code, message);
}

function entry(member: NamedMember): EtcdMember {
  const { id, name, peerUrl, learner } = member;
  return { id, name, peerUrls: [peerUrl], clientUrls: name === "" ? [] : [peerUrl], learner };
}
