/** One raft group as etcd runs it: a log, who votes, who leads. Time comes from outside. */
import { majority } from "../../src/engine/quorum.ts";

export interface SimMember {
  readonly id: string;
  readonly peerUrl: string;
  readonly learner: boolean;
}

export type NamedMember = SimMember & { readonly name: string };

export type Entry =
  | { readonly type: "put"; readonly key: string; readonly value: string }
  | { readonly type: "add"; readonly member: SimMember }
  | { readonly type: "promote"; readonly id: string }
  | { readonly type: "remove"; readonly id: string }
  | { readonly type: "name"; readonly id: string; readonly name: string };

/** What lies on a member's volume. */
export interface DataDirectory {
  group: Group;
  readonly memberId: string;
  /** The size that its file once had; it shrinks only by defragmentation. */
  fileBytes?: number;
  /** Its content is wrong, and it does not know. */
  wrong?: boolean;
  /** How many entries of the group's log it has. */
  index: number;
  /** The highest term it has voted in. */
  term: number;
}

/** A running member, as the group sees it. */
export interface Node {
  readonly data: DataDirectory;
  readonly minor: number;
  readonly startedMs: number;
  readonly running: () => boolean;
}

/** What a group is told by the world around it. */
export interface GroupWorld {
  now(): number;
  connected(a: Node, b: Node): boolean;
  violation(message: string): void;
}

export interface Alarm {
  readonly memberId: string;
  readonly type: "NOSPACE" | "CORRUPT";
}

/** Until then a member that has started receives nothing. */
const connectMs = 300;
/** How long followers wait before they elect another leader, and a leader for its followers before it steps down. */
export const electionMs = 1_000;
/** How long a member that lags takes to catch up. */
const catchUpMs = 700;
/** etcd's HealthInterval: a peer counts as connected after this long. */
const healthMs = 5_000;

export class Group {
  readonly clusterId: string;
  readonly log: Entry[] = [];
  readonly nodes = new Map<string, Node>();
  readonly alarms: Alarm[] = [];
  term = 1;
  /** Bytes of what was written since history was last dropped. */
  history = 0;
  /** Bytes of keys that stay. */
  ballast = 0;
  /** The revision up to which history was dropped. */
  compacted = 0;
  /** Of the user root, once members ask for it. */
  password: string | undefined;
  /** The minor that all members have agreed on; it never falls. */
  clusterMinor = 0;
  readonly #world: GroupWorld;
  #leader: Node | undefined;
  #leaderSince = 0;
  #leaderlessSince: number;
  /** Derived from the log, and made again when that shrinks. */
  #members = new Map<string, NamedMember>();
  #voters: NamedMember[] = [];
  #keys = new Map<string, string>();
  #puts = 0;
  #read = 0;

  constructor(clusterId: string, world: GroupWorld, log: readonly Entry[] = []) {
    this.clusterId = clusterId;
    this.#world = world;
    this.log.push(...log);
    this.#leaderlessSince = world.now() - electionMs;
  }

  /** The same group in another world; `nodes` are its processes there. */
  copy(world: GroupWorld): Group {
    const copy = new Group(this.clusterId, world, this.log);
    copy.alarms.push(...this.alarms);
    copy.term = this.term;
    copy.history = this.history;
    copy.ballast = this.ballast;
    copy.compacted = this.compacted;
    copy.password = this.password;
    copy.clusterMinor = this.clusterMinor;
    copy.#leaderSince = this.#leaderSince;
    copy.#leaderlessSince = this.#leaderlessSince;
    return copy;
  }

  /** After a copy: the leader leads on. */
  continueLead(from: Group): void {
    const id = from.#leader?.data.memberId;
    this.#leader = id === undefined ? undefined : this.nodes.get(id);
  }

  /** Brings what is derived up to the log. */
  #follow(): void {
    if (this.#read > this.log.length) {
      this.#members = new Map();
      this.#keys = new Map();
      this.#puts = 0;
      this.#read = 0;
    }
    if (this.#read === this.log.length) return;
    let changed = this.#read === 0;
    for (; this.#read < this.log.length; this.#read++) {
      const entry = this.log[this.#read] as Entry;
      if (entry.type === "put") {
        this.#puts++;
        this.#keys.set(entry.key, entry.value);
      } else {
        changed = true;
        enter(this.#members, entry);
      }
    }
    if (changed) this.#voters = [...this.#members.values()].filter(({ learner }) => !learner);
  }

  /** Who is a member after so many entries. */
  members(upTo = this.log.length): ReadonlyMap<string, NamedMember> {
    this.#follow();
    if (upTo === this.log.length) return this.#members;
    const members = new Map<string, NamedMember>();
    for (let i = 0; i < upTo; i++) enter(members, this.log[i] as Entry);
    return members;
  }

  keys(): ReadonlyMap<string, string> {
    this.#follow();
    return this.#keys;
  }

  revision(upTo = this.log.length): number {
    this.#follow();
    let puts = this.#puts;
    for (let i = upTo; i < this.log.length; i++) if (this.log[i]?.type === "put") puts--;
    return 1 + puts;
  }

  voters(): readonly NamedMember[] {
    this.#follow();
    return this.#voters;
  }

  /** The voters that run and can be reached from this one, itself included. */
  #reachableVoters(from: Node): Node[] {
    return this.voters().flatMap(({ id }) => {
      const node = this.nodes.get(id);
      return node?.running() && (node === from || this.#hears(from, node)) ? [node] : [];
    });
  }

  #hears(a: Node, b: Node): boolean {
    const now = this.#world.now();
    return now - a.startedMs >= connectMs && now - b.startedMs >= connectMs && this.#world.connected(a, b);
  }

  get leader(): Node | undefined {
    this.tick();
    return this.#leader;
  }

  /** Lets time act: leaders fall and rise, followers catch up, the cluster version rises. */
  tick(): void {
    const now = this.#world.now();
    const need = majority(this.voters().length);
    const leader = this.#leader;
    if (
      leader &&
      !(leader.running() && this.#votes(leader) && this.#reachableVoters(leader).length >= need)
    ) {
      this.#leader = undefined;
      this.#leaderlessSince = now;
    }
    if (!this.#leader && now - this.#leaderlessSince >= electionMs) this.#elect(need);
    this.#replicate();
    this.#agreeOnVersion();
  }

  #votes(node: Node): boolean {
    return this.members().get(node.data.memberId)?.learner === false;
  }

  #elect(need: number): void {
    const candidates = [...this.nodes.values()].filter((node) => node.running() && this.#votes(node));
    if (candidates.length < need) return;
    candidates.sort((a, b) => b.data.index - a.data.index);
    const winner = candidates.find((node) => this.#reachableVoters(node).length >= need);
    if (winner) this.#crown(winner);
  }

  #crown(winner: Node): void {
    if (winner.data.index < this.log.length) {
      const lost = this.log.slice(winner.data.index).filter(({ type }) => type === "put");
      if (lost.length > 0)
        this.#world.violation(`${lost.length} acknowledged writes were lost in an election`);
      this.log.length = winner.data.index;
      for (const node of this.nodes.values()) node.data.index = Math.min(node.data.index, this.log.length);
    }
    this.#leader = winner;
    this.#leaderSince = this.#world.now();
    this.term++;
    for (const node of this.#reachableVoters(winner)) node.data.term = this.term;
  }

  #replicate(): void {
    const leader = this.#leader;
    if (!leader) return;
    const now = this.#world.now();
    for (const node of this.nodes.values()) {
      if (node === leader || node.data.index === this.log.length) continue;
      if (!node.running() || !this.#hears(leader, node)) continue;
      const since = Math.max(node.startedMs + connectMs, this.#leaderSince);
      if (now - since >= catchUpMs) node.data.index = this.log.length;
    }
  }

  #agreeOnVersion(): void {
    if (!this.#leader) return;
    let lowest = Number.POSITIVE_INFINITY;
    for (const id of this.members().keys()) {
      const node = this.nodes.get(id);
      if (!node?.running()) return;
      lowest = Math.min(lowest, node.minor);
    }
    this.clusterMinor = Math.max(this.clusterMinor, lowest);
  }

  /** Whether this member can reach a leader that has its majority. */
  served(node: Node): boolean {
    const { leader } = this;
    return leader !== undefined && (leader === node || this.#hears(leader, node));
  }

  /** Takes effect when a majority of the voters has it. */
  propose(entry: Entry): boolean {
    const { leader } = this;
    if (!leader) return false;
    const { length } = this.log;
    const level = this.#reachableVoters(leader).filter(({ data }) => data.index === length);
    if (level.length < majority(this.voters().length)) return false;
    const followers = [...this.nodes.values()].filter(
      (node) =>
        node.data.index === length && (node === leader || (node.running() && this.#hears(leader, node))),
    );
    this.log.push(entry);
    for (const node of followers) node.data.index = this.log.length;
    return true;
  }

  /** Voters that have been connected to the leader for etcd's HealthInterval. */
  activeVoters(): string[] {
    const { leader } = this;
    if (!leader) return [];
    const now = this.#world.now();
    return this.#reachableVoters(leader)
      .filter((node) => node === leader || now - node.startedMs >= healthMs)
      .map(({ data }) => data.memberId);
  }

  /** Hands the lead to another voter that is level. */
  transfer(to: string): boolean {
    const target = this.nodes.get(to);
    if (!this.#leader || !target?.running() || !this.#votes(target) || !this.#hears(this.#leader, target))
      return false;
    if (target.data.index !== this.log.length) return false;
    this.#crown(target);
    return true;
  }

  /** A member that leaves in good order hands the lead on first, as etcd does on SIGTERM. */
  stepDown(node: Node): void {
    if (this.leader !== node) return;
    const successor = this.#reachableVoters(node).find(
      (other) => other !== node && other.data.index === this.log.length,
    );
    if (successor) this.#crown(successor);
  }
}

function enter(members: Map<string, NamedMember>, entry: Entry): void {
  if (entry.type === "add") members.set(entry.member.id, { ...entry.member, name: "" });
  if (entry.type === "remove") members.delete(entry.id);
  const known = entry.type === "promote" || entry.type === "name" ? members.get(entry.id) : undefined;
  if (known && entry.type === "promote") members.set(known.id, { ...known, learner: false });
  if (known && entry.type === "name") members.set(known.id, { ...known, name: entry.name });
}
