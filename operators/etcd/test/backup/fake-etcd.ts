/** etcd as backups see it: keys in memory, a snapshot that carries them, a member restored from one. */
import { hash } from "node:crypto";
import { EtcdError } from "../../src/engine/errors.ts";
import type {
  Alarm,
  Authentication,
  Etcd,
  KeyHash,
  MemberList,
  MemberProgress,
  MemberStatus,
  Versions,
} from "../../src/engine/etcd.ts";

export interface FakeData {
  /** As etcd writes it in JSON. Default: 255. */
  clusterId?: string;
  readonly keys: Map<string, string>;
  revision: bigint;
  /** The keys as they were up to a revision, oldest first. */
  readonly earlier?: [until: bigint, keys: Map<string, string>][];
}

export interface FakeOptions {
  readonly id: string;
  readonly leader?: string;
  readonly version?: string;
  readonly learner?: boolean;
  readonly appliedIndex?: bigint;
}

export class FakeEtcd implements Etcd {
  readonly data: FakeData;
  readonly options: FakeOptions;
  snapshots = 0;
  down = false;
  compactRevision = 0n;
  /** Changes the bytes on their way. */
  damage: (bytes: Buffer) => Buffer = (bytes) => bytes;

  constructor(data: FakeData, options: FakeOptions) {
    this.data = data;
    this.options = options;
  }

  /** The member that a snapshot becomes. */
  static restored(snapshot: Buffer): FakeEtcd {
    const parsed = JSON.parse(snapshot.subarray(0, -32).toString()) as {
      keys: [string, string][];
      revision: string;
    };
    const data = { keys: new Map(parsed.keys), revision: BigInt(parsed.revision), earlier: [] };
    return new FakeEtcd(data, { id: "99", leader: "99" });
  }

  async localMembers() {
    return await this.members();
  }

  async status(): Promise<MemberStatus> {
    this.#answer();
    const {
      id,
      leader,
      version = "3.6.16",
      learner = false,
      appliedIndex = this.data.revision,
    } = this.options;
    return {
      clusterId: this.data.clusterId ?? "255",
      memberId: id,
      version,
      revision: this.data.revision,
      raftTerm: 2n,
      raftIndex: appliedIndex,
      appliedIndex,
      leader,
      learner,
      dbSizeBytes: 0n,
      dbSizeInUseBytes: 0n,
      errors: [],
    };
  }

  async get(key: string) {
    this.#answer();
    if (this.options.leader === undefined) throw new EtcdError("NoLeader", "no leader");
    return { value: this.data.keys.get(key), revision: this.data.revision };
  }

  async put(key: string, value: string) {
    this.#answer();
    this.#next();
    this.data.keys.set(key, value);
    return { revision: this.data.revision };
  }

  /** The lease of a key ends. */
  expire(key: string): void {
    this.#next();
    this.data.keys.delete(key);
  }

  #next(): void {
    this.data.earlier?.push([this.data.revision, new Map(this.data.keys)]);
    this.data.revision++;
  }

  async count(): Promise<number> {
    return this.data.keys.size;
  }

  async hashKv(revision: bigint): Promise<KeyHash> {
    this.#answer();
    if (revision > this.data.revision)
      throw new EtcdError("Refused", "required revision is a future revision");
    const [, keys = this.data.keys] = this.data.earlier?.find(([until]) => revision <= until) ?? [];
    const text = JSON.stringify([...keys].sort());
    return { hash: hash("sha256", text).slice(0, 8), compactRevision: this.compactRevision, revision };
  }

  async *snapshot(): AsyncIterable<Uint8Array> {
    this.#answer();
    this.snapshots++;
    const { keys, revision } = this.data;
    const body = Buffer.from(JSON.stringify({ keys: [...keys], revision: String(revision) }));
    const whole = this.damage(Buffer.concat([body, Buffer.from(hash("sha256", body), "hex")]));
    for (let at = 0; at < whole.length; at += 100) yield whole.subarray(at, at + 100);
  }

  progress = async (): Promise<MemberProgress> => this.#unused();
  versions = async (): Promise<Versions> => this.#unused();
  members = async (): Promise<MemberList> => this.#unused();
  addLearner = async () => this.#unused();
  promote = async (): Promise<void> => this.#unused();
  remove = async (): Promise<void> => this.#unused();
  updatePeerUrls = async (): Promise<void> => this.#unused();
  moveLeader = async (): Promise<void> => this.#unused();
  alarms = async (): Promise<readonly Alarm[]> => this.#unused();
  disarm = async (): Promise<void> => this.#unused();
  defragment = async (): Promise<void> => this.#unused();
  compact = async (): Promise<void> => this.#unused();
  authentication = async (): Promise<Authentication> => this.#unused();
  enableAuthentication = async (): Promise<void> => this.#unused();
  changePassword = async (): Promise<void> => this.#unused();

  #answer(): void {
    if (this.down) throw new EtcdError("Unreachable", `no answer from ${this.options.id}`);
  }

  #unused(): never {
    throw new Error("a backup has no use for this call");
  }
}
