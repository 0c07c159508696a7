/** Asks every member directly, all at once. A member that does not answer is a result, not an error. */
import type { Connection } from "keelson";
import { isEtcdError } from "../engine/errors.ts";
import type {
  Alarm,
  CallOptions,
  Credentials,
  Etcd,
  EtcdAddress,
  MemberList,
  MemberProgress,
  MemberStatus,
  TlsMaterial,
} from "../engine/etcd.ts";

/** Makes the client of a member. */
export type Dial = (address: EtcdAddress) => Etcd;

/** A member that can be connected to. */
export interface Reachable {
  readonly name: string;
  readonly connect: () => Promise<Connection>;
  /** To its port for metrics, which is asked when there is no quorum. */
  readonly connectMetrics?: () => Promise<Connection>;
  readonly tls?: TlsMaterial;
}

/** Root's password, and the previous one while it is being changed. */
export interface Passwords {
  readonly current: Credentials;
  readonly previous?: Credentials;
}

/** What the members answered. Holds connections: dispose of it when the pass is over. */
export interface Answers extends AsyncDisposable {
  readonly statuses: ReadonlyMap<string, MemberStatus>;
  /** Without a quorum: how far those have got that did not tell their status. */
  readonly progress: ReadonlyMap<string, MemberProgress>;
  /** Whether a linearizable read went through, by member; only those that were asked. */
  readonly reads: ReadonlyMap<string, boolean>;
  readonly list: MemberList | undefined;
  /** Without a quorum: the list of the member that is furthest along. It may be old. */
  readonly localList: MemberList | undefined;
  readonly alarms: readonly Alarm[];
  readonly clusterVersion: string | undefined;
  /** How etcd takes our password: it asks for none, accepts this one, accepts the previous one, or neither. */
  readonly authentication: "off" | "in" | "previous" | "out" | undefined;
  /** The client of a member that answered. */
  etcd(name: string): Etcd | undefined;
}

const timeoutMs = 2_000;

interface AskOptions {
  readonly dial: Dial;
  readonly signal: AbortSignal;
  /** Also reads through every voter, as a rollout demands. */
  readonly readThrough: boolean;
  readonly passwords?: Passwords | undefined;
}

export async function ask(members: readonly Reachable[], options: AskOptions): Promise<Answers> {
  const connections: AsyncDisposable[] = [];
  const close = async () => {
    await Promise.allSettled(connections.splice(0).map((connection) => connection[Symbol.asyncDispose]()));
  };
  try {
    return { ...(await answersOf(members, options, connections)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Adds what it connects to `connections`. */
async function answersOf(
  members: readonly Reachable[],
  options: AskOptions,
  connections: AsyncDisposable[],
): Promise<Omit<Answers, keyof AsyncDisposable>> {
  const call: CallOptions = { signal: options.signal, timeoutMs };
  const clients = new Map<string, Etcd>();
  const addresses = new Map<string, EtcdAddress>();
  const statuses = new Map<string, MemberStatus>();
  const { passwords } = options;
  /** Members that do not even tell their status to someone without the right password, as etcd does without TLS. */
  const closed = new Set<string>();
  const greet = async (name: string, etcd: Etcd) => {
    try {
      statuses.set(name, await etcd.status(call));
      clients.set(name, etcd);
    } catch (error) {
      if (isEtcdError(error, "Unauthenticated")) closed.add(name);
      throw error;
    }
  };
  await Promise.allSettled(
    members.map(async ({ name, connect, tls }) => {
      await quietly(options.signal, async () => {
        const connection = await connect();
        connections.push(connection);
        const address = { host: connection.host, port: connection.port, ...(tls && { tls }) };
        addresses.set(name, address);
        await greet(name, options.dial({ ...address, ...(passwords && { credentials: passwords.current }) }));
      });
    }),
  );
  options.signal.throwIfAborted();
  let authentication: Answers["authentication"] = closed.size > 0 ? "out" : undefined;
  const known = respondersIn(statuses).flatMap((name) => clients.get(name) ?? []);
  if (passwords) {
    authentication ??= passwords.current.session?.token
      ? "in"
      : await first(known, options.signal, async (etcd) => await etcd.authentication(call));
    const { previous } = passwords;
    if (authentication === "out" && previous) {
      const older = new Map(
        [...addresses].map(([name, address]) => [name, options.dial({ ...address, credentials: previous })]),
      );
      await Promise.all(
        [...older].map(async ([name, etcd]) => {
          if (closed.has(name)) await quietly(options.signal, async () => await greet(name, etcd));
        }),
      );
      const before = respondersIn(statuses).flatMap((name) => older.get(name) ?? []);
      const answer = await first(before, options.signal, async (etcd) => await etcd.authentication(call));
      if (answer === "in") {
        authentication = "previous";
        for (const [name, etcd] of older) if (statuses.has(name)) clients.set(name, etcd);
      }
    }
  }
  const reads = new Map<string, boolean>();
  if (options.readThrough) {
    await Promise.all(
      [...clients].map(async ([name, etcd]) => {
        if (statuses.get(name)?.learner) return;
        const read = await quietly(options.signal, async () => await etcd.get("keelson.dev/read", call));
        reads.set(name, read !== undefined);
      }),
    );
  }
  const responders = respondersIn(statuses)
    .map((name) => clients.get(name))
    .filter((etcd) => etcd !== undefined);
  const list = await first(responders, options.signal, async (etcd) => {
    try {
      return await etcd.members(call);
    } catch (error) {
      if (isEtcdError(error, "Unauthenticated")) authentication = "out";
      throw error;
    }
  });
  const localList = list ? undefined : await localListOf(clients, statuses, options.signal, call);
  const progress = new Map<string, MemberProgress>();
  if (!list) {
    await Promise.all(
      members.map(async ({ name, connectMetrics }) => {
        if (!connectMetrics || statuses.has(name)) return;
        const answer = await quietly(options.signal, async () => {
          const connection = await connectMetrics();
          connections.push(connection);
          return await options.dial({ host: connection.host, port: connection.port }).progress(call);
        });
        if (answer) progress.set(name, answer);
      }),
    );
  }
  const alarms = list && (await first(responders, options.signal, async (etcd) => await etcd.alarms(call)));
  const versions =
    list && (await first(responders, options.signal, async (etcd) => await etcd.versions(call)));
  return {
    statuses,
    progress,
    reads,
    list,
    localList,
    alarms: alarms ?? [],
    clusterVersion: versions?.cluster,
    authentication,
    etcd: (name) => clients.get(name),
  };
}

/** Voters that know a leader, the leader itself first: it answers without asking another member. */
function respondersIn(statuses: ReadonlyMap<string, MemberStatus>): string[] {
  const voters = [...statuses].filter(([, { learner, leader }]) => !learner && leader !== undefined);
  const isLeader = ([, { leader, memberId }]: (typeof voters)[number]) => (leader === memberId ? 0 : 1);
  return voters.sort((a, b) => isLeader(a) - isLeader(b)).map(([name]) => name);
}

async function localListOf(
  clients: ReadonlyMap<string, Etcd>,
  statuses: ReadonlyMap<string, MemberStatus>,
  signal: AbortSignal,
  call: CallOptions,
): Promise<MemberList | undefined> {
  const furthest = [...statuses].sort(
    ([, a], [, b]) => Number(b.raftIndex - a.raftIndex) || Number(b.raftTerm - a.raftTerm),
  );
  const ordered = furthest.flatMap(([name]) => clients.get(name) ?? []);
  return await first(ordered, signal, async (etcd) => await etcd.localMembers(call));
}

async function first<T>(
  clients: readonly Etcd[],
  signal: AbortSignal,
  call: (etcd: Etcd) => Promise<T>,
): Promise<T | undefined> {
  for (const etcd of clients) {
    const answer = await quietly(signal, async () => await call(etcd));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** A member that does not answer is a fact, not an error; the end of the reconcile is an error. */
async function quietly<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
