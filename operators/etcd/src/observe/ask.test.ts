/** What members answer, and in which order they are asked. */
import { describe, expect, test } from "vitest";
import { EtcdError } from "../engine/errors.ts";
import type { Credentials, Etcd, EtcdAddress, MemberStatus, Versions } from "../engine/etcd.ts";
import { type Answers, ask, type Passwords } from "./ask.ts";

/** What one member is like; a call that is not there fails. */
interface Fake {
  readonly status?: Partial<MemberStatus> | Error;
  readonly members?: object | Error;
  readonly localMembers?: object;
  readonly alarms?: readonly object[];
  readonly versions?: Partial<Versions>;
  readonly authentication?: (credentials: Credentials | undefined) => string;
  readonly get?: boolean;
  readonly progress?: object;
  /** Rejects every call with these credentials. */
  readonly refuses?: (credentials: Credentials | undefined) => boolean;
  readonly onCall?: (name: string) => void;
  readonly noConnection?: boolean;
  readonly tls?: object;
}

const healthy: MemberStatus = {
  clusterId: "1",
  memberId: "0",
  version: "3.6.16",
  revision: 1n,
  raftTerm: 1n,
  raftIndex: 10n,
  appliedIndex: 10n,
  leader: "1",
  learner: false,
  dbSizeBytes: 0n,
  dbSizeInUseBytes: 0n,
  errors: [],
};
const silent: Fake = { status: new Error("no answer") };
const member = (memberId: string, change: Partial<MemberStatus> = {}, rest: Fake = {}): Fake => ({
  status: { memberId, ...change },
  ...rest,
});
const locked = () => new EtcdError("Unauthenticated", "etcd refused status: authentication");

class Members {
  /** Every call that was made, as `member call`. */
  readonly calls: string[] = [];
  readonly dialled: EtcdAddress[] = [];
  open = 0;
  readonly #fakes: Readonly<Record<string, Fake>>;

  constructor(fakes: Readonly<Record<string, Fake>>) {
    this.#fakes = fakes;
  }

  async ask(
    options: { passwords?: Passwords; readThrough?: boolean; metrics?: boolean; signal?: AbortSignal } = {},
  ) {
    const {
      passwords,
      readThrough = false,
      metrics = false,
      signal = new AbortController().signal,
    } = options;
    const connect = async (host: string) => {
      if (this.#fakes[host]?.noConnection) throw new Error("refused");
      this.open++;
      return { host, port: 2379, [Symbol.asyncDispose]: async () => void this.open-- };
    };
    const reachable = Object.entries(this.#fakes).map(([name, { tls }]) => ({
      name,
      connect: async () => (await connect(name)) as never,
      ...(metrics ? { connectMetrics: async () => ({ ...(await connect(name)), port: 2381 }) as never } : {}),
      ...(tls ? { tls: tls as never } : {}),
    }));
    return await ask(reachable, { dial: (address) => this.#client(address), signal, readThrough, passwords });
  }

  #client(address: EtcdAddress): Etcd {
    this.dialled.push(address);
    const { host, credentials } = address;
    const fake = this.#fakes[host] as Fake;
    const call = (name: keyof Fake, answer: unknown) => async () => {
      this.calls.push(`${host} ${name}`);
      fake.onCall?.(name);
      if (fake.refuses?.(credentials)) throw locked();
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error(`no ${name}`);
      return answer;
    };
    return {
      status: call("status", fake.status instanceof Error ? fake.status : { ...healthy, ...fake.status }),
      members: call("members", fake.members),
      localMembers: call("localMembers", fake.localMembers),
      alarms: call("alarms", fake.alarms),
      versions: call("versions", fake.versions),
      authentication: call("authentication", fake.authentication?.(credentials)),
      get: call("get", fake.get ? { value: undefined, revision: 1n } : undefined),
      progress: call("progress", fake.progress),
    } as unknown as Etcd;
  }

  of(call: string): string[] {
    return this.calls.filter((each) => each.endsWith(` ${call}`)).map((each) => each.split(" ")[0] as string);
  }
}

const list = { clusterId: "1", members: [] };
const names = (map: ReadonlyMap<string, unknown>) => [...map.keys()].sort();

describe("with a quorum", () => {
  const answer = {
    members: list,
    alarms: [{ type: "NOSPACE", memberId: "0" }],
    versions: { cluster: "3.6.0" },
  };

  test("statuses are of all that answer, and the rest comes from the leader alone", async () => {
    const members = new Members({
      a: member("2", {}, answer),
      b: member("1", {}, answer),
      c: silent,
      d: { noConnection: true },
    });
    const answers = await members.ask();
    expect(names(answers.statuses)).toEqual(["a", "b"]);
    expect(answers).toMatchObject({
      list,
      clusterVersion: "3.6.0",
      alarms: answer.alarms,
      localList: undefined,
    });
    for (const call of ["members", "alarms", "versions"]) {
      const abort = new AbortController();
      const onCall = (name: string) => {
        if (name !== call) return;
        abort.abort(new Error("the operator is stopping"));
        throw new Error("no answer");
      };
      const members = new Members({ a: member("1", {}, { ...answer, onCall }) });
      await expect(members.ask({ signal: abort.signal })).rejects.toThrow();
      expect(members.open).toBe(0);
    }
  });

  test("connections are held until it is disposed of, those to members that did not answer as well", async () => {
    const members = new Members({ a: member("1", {}, answer), b: silent });
    const answers = await members.ask();
    expect(members.open).toBe(2);
    await answers[Symbol.asyncDispose]();
    expect(members.open).toBe(0);
  });

  test("another voter is asked when the leader does not say", async () => {
    const members = new Members({ a: member("2", {}, answer), b: member("1") });
    expect(await members.ask()).toMatchObject({ list });
    expect(members.of("members")).toEqual(["b", "a"]);
  });

  test("learners, and voters without a leader, are not asked", async () => {
    const members = new Members({
      a: member("2", { learner: true }, answer),
      b: member("3", { leader: undefined }, answer),
      c: member("4", {}, answer),
    });
    await members.ask();
    expect(members.of("members")).toEqual(["c"]);
  });

  test("metrics are not asked for, and no alarm is none", async () => {
    const members = new Members({ a: member("1", {}, { members: list }), b: silent });
    const answers = await members.ask({ metrics: true });
    expect(members.of("progress")).toEqual([]);
    expect(answers).toMatchObject({ alarms: [], clusterVersion: undefined });
  });

  test("a member is addressed with its certificates, and without a password where there is none", async () => {
    const tls = { ca: "ca" };
    const members = new Members({ a: member("1", {}, { tls }), b: member("2") });
    await members.ask();
    expect(members.dialled).toEqual([
      { host: "a", port: 2379, tls },
      { host: "b", port: 2379 },
    ]);
  });
});

describe("reads through members", () => {
  const members = () =>
    new Members({
      a: member("1", {}, { members: list, get: true }),
      b: member("2", {}, { members: list }),
      c: member("3", { learner: true }, { get: true }),
      d: silent,
    });

  test("are made through every voter that answers, where they are asked for", async () => {
    const { reads } = await members().ask({ readThrough: true });
    expect(Object.fromEntries(reads)).toEqual({ a: true, b: false });
  });

  test("are not made where they are not", async () => {
    const quiet = members();
    expect((await quiet.ask()).reads.size).toBe(0);
    expect(quiet.of("get")).toEqual([]);
  });
});

describe("without a quorum", () => {
  const own = (text: string) => ({ localMembers: { clusterId: text, members: [] } });
  const alone = { leader: undefined };

  test("the list is that of the member that is furthest along", async () => {
    const members = new Members({
      a: member("1", { ...alone, raftIndex: 10n, raftTerm: 9n }, own("a")),
      b: member("2", { ...alone, raftIndex: 12n, raftTerm: 1n }, own("b")),
      c: member("3", { ...alone, raftIndex: 11n, raftTerm: 9n }, own("c")),
    });
    expect(await members.ask()).toMatchObject({ list: undefined, localList: { clusterId: "b" }, alarms: [] });
    expect(members.of("alarms")).toEqual([]);
    expect(members.of("versions")).toEqual([]);
  });

  test("of members that are as far, the one of the later term counts", async () => {
    const at = (raftTerm: bigint) => ({ ...alone, raftIndex: 10n, raftTerm });
    const first = new Members({ a: member("1", at(1n), own("a")), b: member("2", at(2n), own("b")) });
    const second = new Members({ a: member("1", at(2n), own("a")), b: member("2", at(1n), own("b")) });
    expect(await first.ask()).toMatchObject({ localList: { clusterId: "b" } });
    expect(await second.ask()).toMatchObject({ localList: { clusterId: "a" } });
  });

  test("the next one is asked when the furthest does not say", async () => {
    const members = new Members({
      a: member("1", { ...alone, raftIndex: 10n }, own("a")),
      b: member("2", { ...alone, raftIndex: 12n }),
    });
    expect(await members.ask()).toMatchObject({ localList: { clusterId: "a" } });
    expect(members.of("localMembers")).toEqual(["b", "a"]);
  });

  test("who does not tell a status is asked how far it has got, and the others are not", async () => {
    const progress = { revision: 5n, index: 6n, learner: false, peers: [] };
    const members = new Members({
      a: member("1", alone, { progress }),
      b: { ...silent, progress },
      c: silent,
    });
    const answers = await members.ask({ metrics: true });
    expect(Object.fromEntries(answers.progress)).toEqual({ b: progress });
    expect(members.of("progress")).toEqual(["b", "c"]);
    expect(members.dialled.filter(({ port }) => port === 2381)).toEqual([
      { host: "b", port: 2381 },
      { host: "c", port: 2381 },
    ]);
    await answers[Symbol.asyncDispose]();
    expect(members.open).toBe(0);
    expect((await members.ask()).progress.size).toBe(0);
  });
});

describe("passwords", () => {
  const current: Credentials = { user: "root", password: "new" };
  const previous: Credentials = { user: "root", password: "old" };
  const accepts = (password: string) => (credentials: Credentials | undefined) =>
    credentials?.password === password ? "in" : "out";
  const tell = (answers: Answers) => answers.authentication;
  const used = (members: Members) => members.dialled.map(({ credentials }) => credentials?.password);

  test("without one in the spec, etcd is not asked", async () => {
    const members = new Members({ a: member("1", {}, { members: list, authentication: accepts("new") }) });
    expect(tell(await members.ask())).toBeUndefined();
    expect(members.of("authentication")).toEqual([]);
  });

  test.each([
    ["off", () => "off"],
    ["in", accepts("new")],
    ["out", accepts("other")],
  ])("etcd says that it is %s, and one answer is enough", async (expected, authentication) => {
    const voter = (id: string) => member(id, {}, { members: list, authentication });
    const members = new Members({ a: voter("2"), b: voter("1") });
    expect(tell(await members.ask({ passwords: { current } }))).toBe(expected);
    expect(members.of("authentication")).toEqual(["b"]);
    expect(used(members)).toEqual(["new", "new"]);
  });

  test("a token that etcd issued before is answer enough", async () => {
    const members = new Members({ a: member("1", {}, { members: list }) });
    const passwords = { current: { ...current, session: { token: "t" } } };
    expect(tell(await members.ask({ passwords }))).toBe("in");
    expect(members.of("authentication")).toEqual([]);
  });

  test("the previous one is tried where the current one is refused, and used where it is accepted", async () => {
    const members = new Members({
      a: member("1", {}, { members: list, authentication: accepts("old") }),
      b: silent,
    });
    const answers = await members.ask({ passwords: { current, previous } });
    expect(tell(answers)).toBe("previous");
    expect(used(members)).toEqual(["new", "new", "old", "old"]);
    expect(await answers.etcd("a")?.authentication()).toBe("in");
    expect(answers.etcd("b")).toBeUndefined();
  });

  test("the previous one is left alone where the current one is accepted", async () => {
    const members = new Members({ a: member("1", {}, { members: list, authentication: accepts("new") }) });
    expect(tell(await members.ask({ passwords: { current, previous } }))).toBe("in");
    expect(used(members)).toEqual(["new"]);
  });

  test("both refused", async () => {
    const members = new Members({ a: member("1", {}, { members: list, authentication: accepts("other") }) });
    const answers = await members.ask({ passwords: { current, previous } });
    expect(tell(answers)).toBe("out");
    expect(answers.etcd("a")).toBeDefined();
  });

  const closed = (password: string): Fake =>
    member(
      "1",
      {},
      {
        members: list,
        authentication: accepts(password),
        refuses: (credentials) => credentials?.password !== password,
      },
    );

  test("a member that tells nothing without the right one is heard with the previous one", async () => {
    const members = new Members({ a: closed("old"), b: silent });
    const answers = await members.ask({ passwords: { current, previous } });
    expect(tell(answers)).toBe("previous");
    expect(names(answers.statuses)).toEqual(["a"]);
    expect(answers.list).toEqual(list);
    expect(members.of("status")).toEqual(["a", "b", "a"]);
  });

  test("a member that tells nothing without any keeps the operator out", async () => {
    const members = new Members({ a: closed("other") });
    expect(tell(await members.ask())).toBe("out");
    const both = await members.ask({ passwords: { current, previous } });
    expect(tell(both)).toBe("out");
    expect(both.statuses.size).toBe(0);
  });

  test("a member that fails otherwise does not", async () => {
    const members = new Members({ a: silent });
    expect(tell(await members.ask({ passwords: { current } }))).toBeUndefined();
  });

  test("a list that is refused for want of a password keeps the operator out, and any other failure does not", async () => {
    const refused = new Members({ a: member("1", {}, { members: locked() }) });
    expect(tell(await refused.ask())).toBe("out");
    const failed = new Members({ a: member("1", {}, { members: new Error("no answer") }) });
    expect(tell(await failed.ask())).toBeUndefined();
  });
});

const deaf = {
  status: (call: { signal: AbortSignal }) =>
    new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason))),
} as unknown as Etcd;

describe("asking the members", () => {
  test("holds no connection when it is broken off", async () => {
    const open = new Set<string>();
    const { promise: bothOpen, resolve } = Promise.withResolvers<void>();
    const member = (name: string) => ({
      name,
      connect: async () => {
        open.add(name);
        if (open.size === 2) resolve();
        return {
          host: "127.0.0.1",
          port: 1,
          [Symbol.asyncDispose]: async () => {
            open.delete(name);
          },
        };
      },
    });
    const abort = new AbortController();
    const asking = ask([member("a"), member("b")], {
      dial: () => deaf,
      signal: abort.signal,
      readThrough: false,
    });
    await bothOpen;
    abort.abort(new Error("the operator is stopping"));
    await expect(asking).rejects.toThrow("the operator is stopping");
    expect([...open]).toEqual([]);
  });
});
