/** The calls to etcd that the operator needs: one member at a time, nothing of Kubernetes. */

/** A member id: a uint64 in decimal, as etcd's JSON gateway writes it. Never a number: it does not fit. */
export type MemberId = string;

/** An id as people and etcdctl write it. */
export function hex(id: MemberId): string {
  return BigInt(id).toString(16);
}

export interface EtcdMember {
  readonly id: MemberId;
  /** Empty until the member has started once: match by peer URL before that, by id afterwards. */
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly clientUrls: readonly string[];
  readonly learner: boolean;
}

/** The scheme by which the others address a member. */
export function schemeOf({ peerUrls: [url] }: EtcdMember): string | undefined {
  return url?.split(":", 1)[0];
}

export interface MemberList {
  readonly clusterId: string;
  readonly members: readonly EtcdMember[];
}

/** What one member reports about itself, even as a learner and without a leader. */
export interface MemberStatus {
  readonly clusterId: string;
  readonly memberId: MemberId;
  readonly version: string;
  readonly revision: bigint;
  readonly raftTerm: bigint;
  /** The last entry that it knows to be committed. */
  readonly raftIndex: bigint;
  readonly appliedIndex: bigint;
  /** Undefined when it knows of none. */
  readonly leader: MemberId | undefined;
  readonly learner: boolean;
  readonly dbSizeBytes: bigint;
  readonly dbSizeInUseBytes: bigint;
  readonly errors: readonly string[];
}

/** What can be known of a member that serves no client: one that has started and not had a quorum since. */
export interface MemberProgress {
  readonly revision: bigint;
  /** The last entry that it knows to be committed, or one before it. */
  readonly index: bigint;
  readonly learner: boolean;
  /** The other members, as far as the metrics name them. */
  readonly peers: readonly MemberId[];
}

export interface Alarm {
  /** `0` for data that differs when no majority says whose is wrong. */
  readonly memberId: MemberId;
  readonly type: "NOSPACE" | "CORRUPT";
}

export interface KeyHash {
  readonly hash: string;
  /** The hash covers keys from here to the requested revision. */
  readonly compactRevision: bigint;
  readonly revision: bigint;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Default: 5 s; two minutes for what reads or writes a member's whole file. */
  readonly timeoutMs?: number;
}

export interface Versions {
  readonly server: string;
  /** What all members have agreed on: the lowest minor among them. It never falls. */
  readonly cluster: string;
}

/** `off`: etcd asks for no password. `in`: our password is accepted. `out`: it is not, or we have none. */
export type Authentication = "off" | "in" | "out";

/** The calls to one member. Each rejects with an `EtcdError`. */
export interface Etcd {
  status(options?: CallOptions): Promise<MemberStatus>;
  /** For an address of its port for metrics: it answers there before it serves, and asks nobody for a password. */
  progress(options?: CallOptions): Promise<MemberProgress>;
  versions(options?: CallOptions): Promise<Versions>;
  /** Linearizable: answered only with a quorum, and never older than any change that was answered. */
  members(options?: CallOptions): Promise<MemberList>;
  /** The list as this member has it, without a quorum: it may be old. */
  localMembers(options?: CallOptions): Promise<MemberList>;
  /** Adds a learner that has not started yet. Not idempotent: look for the peer URL first after a lost answer. */
  addLearner(
    peerUrls: readonly string[],
    options?: CallOptions,
  ): Promise<MemberList & { readonly added: EtcdMember }>;
  /** Sent to the leader: followers forward it, but not in every version. */
  promote(id: MemberId, options?: CallOptions): Promise<void>;
  /** A member that is not there counts as removed. */
  remove(id: MemberId, options?: CallOptions): Promise<void>;
  updatePeerUrls(id: MemberId, peerUrls: readonly string[], options?: CallOptions): Promise<void>;
  /** Only the leader can; the target must be a voter. */
  moveLeader(to: MemberId, options?: CallOptions): Promise<void>;
  alarms(options?: CallOptions): Promise<readonly Alarm[]>;
  disarm(alarm: Alarm, options?: CallOptions): Promise<void>;
  /** Blocks the member while it runs. As with all that takes long, one that is gone is noticed within seconds. */
  defragment(options?: CallOptions): Promise<void>;
  hashKv(revision: bigint, options?: CallOptions): Promise<KeyHash>;
  /** A linearizable read through this member: it proves that it has a leader and has caught up. */
  get(
    key: string,
    options?: CallOptions,
  ): Promise<{ readonly value: string | undefined; readonly revision: bigint }>;
  put(key: string, value: string, options?: CallOptions): Promise<{ readonly revision: bigint }>;
  /** How many keys there are. */
  count(options?: CallOptions): Promise<number>;
  compact(revision: bigint, options?: CallOptions): Promise<void>;
  /** Whether etcd asks for a password, and whether it accepts ours. */
  authentication(options?: CallOptions): Promise<Authentication>;
  /** Creates the user root with our password, or sets its password, and enables authentication. */
  enableAuthentication(options?: CallOptions): Promise<void>;
  /** Sets the password of root. */
  changePassword(password: string, options?: CallOptions): Promise<void>;
  /** The database as of now, with etcd's own SHA-256 as its last 32 bytes. */
  snapshot(options?: CallOptions): AsyncIterable<Uint8Array>;
}

export interface TlsMaterial {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name to verify, when the address is a port-forward. */
  readonly serverName?: string;
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
  /** The token that etcd issued for them. All members accept it: shared between the clients of one cluster. */
  readonly session?: { token?: string };
}

export interface EtcdAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial;
  readonly credentials?: Credentials;
}
