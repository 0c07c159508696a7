/** One raft group as etcd runs it: a log, who votes, who leads. Time comes from outside. */
import { majority } from "../../src/engine/quorum.ts";

export interface SimMember {
  readonly id: string;
  readonly peerUrl: string;
  readonly learner: boolean;
}

export type Entry =
  | { readonly type: "put"; readonly key: string; readonly value: string }
  | { readonly type: "add"; readonly member: SimMember }
  | { readonly type: "promote"; readonly id: string }
  | { readonly type: "remove"; readonly id: string }
  | { readonly type: "name"; readonly id: string; readonly name: string }
  | { readonly type: "noop" };

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

export interface GroupOptions {
  readonly clusterId: string;
  readonly now: () => number;
  readonly connected: (a: Node, b: Node) => boolean;
  readonly violation: (message: string) => void;
}

/** Until then a member that has started receives nothing. */
const connectMs = 300;
/** How long followers wait before they elect another leader. */
const electionMs = 1_000;
/** How long a member that lags takes to catch up. */
const catchUpMs = 700;
/** etcd's HealthInterval: a peer counts as connected after this long. */
const healthMs = 5_000;

export class Group {
  readonly clusterId: string;
  readonly log: Entry[] = [];
  readonly nodes = new Map<string, Node>();
  readonly alarms: { memberId: string; type: "NOSPACE" | "CORRUPT" }[] = [];
  term = 1;
  /** Bytes of what was written since history was last dropped. */
  history = 0;
  /** Of the user root, once members ask for it. */
  password: string | undefined;
  /** The minor that all members have agreed on; it never falls. */
  clusterMinor = 0;
  #options: GroupOptions;
  #leader: Node | undefined;
  #leaderSince = 0;
  #leaderlessSince: number;

  constructor(options: GroupOptions, log: readonly Entry[] = []) {
    this.#options = options;
    this.clusterId = options.clusterId;
    this.log.push(...log);
    this.#leaderlessSince = options.now() - electionMs;
  }

  /** Who is a member after so many entries. */
  members(upTo = this.log.length): Map<string, SimMember & { name: string }> {
    const members = new Map<string, SimMember & { name: string }>();
    for (const entry of this.log.slice(0, upTo)) {
      if (entry.type === "add") members.set(entry.member.id, { ...entry.member, name: "" });
      if (entry.type === "remove") members.delete(entry.id);
      const known = entry.type === "promote" || entry.type === "name" ? members.get(entry.id) : undefined;
      if (known && entry.type === "promote") members.set(known.id, { ...known, learner: false });
      if (known && entry.type === "name") members.set(known.id, { ...known, name: entry.name });
    }
    return members;
  }

  keys(upTo = this.log.length): Map<string, string> {
    return new Map(
      this.log.slice(0, upTo).flatMap((entry) => (entry.type === "put" ? [[entry.key, entry.value]] : [])),
    );
  }

  revision(upTo = this.log.length): number {
    return 1 + this.log.slice(0, upTo).filter(({ type }) => type === "put").length;
  }

  voters(): SimMember[] {
    return [...this.members().values()].filter(({ learner }) => !learner);
  }

  /** The voters that run and can be reached from this one, itself included. */
  #reachableVoters(from: Node): Node[] {
    const ids = new Set(this.voters().map(({ id }) => id));
    return [...this.nodes.values()].filter(
      (node) => ids.has(node.data.memberId) && node.running() && (node === from || this.#hears(from, node)),
    );
  }

  #hears(a: Node, b: Node): boolean {
    const now = this.#options.now();
    return this.#options.connected(a, b) && now - a.startedMs >= connectMs && now - b.startedMs >= connectMs;
  }

  get leader(): Node | undefined {
    this.tick();
    return this.#leader;
  }

  /** Lets time act: leaders fall and rise, followers catch up, the cluster version rises. */
  tick(): void {
    const now = this.#options.now();
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
    return this.voters().some(({ id }) => id === node.data.memberId);
  }

  #elect(need: number): void {
    const candidates = [...this.nodes.values()].filter((node) => node.running() && this.#votes(node));
    candidates.sort((a, b) => b.data.index - a.data.index);
    const winner = candidates.find((node) => this.#reachableVoters(node).length >= need);
    if (winner) this.#crown(winner);
  }

  #crown(winner: Node): void {
    if (winner.data.index < this.log.length) {
      const lost = this.log.slice(winner.data.index).filter(({ type }) => type === "put");
      if (lost.length > 0)
        this.#options.violation(`${lost.length} acknowledged writes were lost in an election`);
      this.log.length = winner.data.index;
      for (const node of this.nodes.values()) node.data.index = Math.min(node.data.index, this.log.length);
    }
    this.#leader = winner;
    this.#leaderSince = this.#options.now();
    this.term++;
    for (const node of this.#reachableVoters(winner)) node.data.term = this.term;
  }

  #replicate(): void {
    const leader = this.#leader;
    if (!leader) return;
    const now = this.#options.now();
    for (const node of this.nodes.values()) {
      if (node === leader || !node.running() || !this.#hears(leader, node)) continue;
      const since = Math.max(node.startedMs + connectMs, this.#leaderSince);
      if (now - since >= catchUpMs) node.data.index = this.log.length;
    }
  }

  #agreeOnVersion(): void {
    const members = [...this.members().keys()].map((id) => this.nodes.get(id));
    const minors = members.map((node) => (node?.running() ? node.minor : undefined));
    if (!this.#leader || minors.some((minor) => minor === undefined)) return;
    this.clusterMinor = Math.max(this.clusterMinor, Math.min(...(minors as number[])));
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
    const level = this.#reachableVoters(leader).filter(({ data }) => data.index === this.log.length);
    if (level.length < majority(this.voters().length)) return false;
    const followers = [...this.nodes.values()].filter(
      (node) =>
        node.data.index === this.log.length &&
        (node === leader || (node.running() && this.#hears(leader, node))),
    );
    this.log.push(entry);
    for (const node of followers) node.data.index = this.log.length;
    return true;
  }

  /** Voters that have been connected to the leader for etcd's HealthInterval. */
  activeVoters(): string[] {
    const { leader } = this;
    if (!leader) return [];
    const now = this.#options.now();
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
