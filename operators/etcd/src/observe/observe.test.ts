/** What one pass sees: objects of the cluster, and what its members answered. */
import { describe, expect, test } from "vitest";
import type { EtcdClusterObject, Member, Status } from "../api/cluster.ts";
import { annotations, labels } from "../api/names.ts";
import type { EtcdAddress, EtcdMember, MemberStatus } from "../engine/etcd.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { claimLabels, clusterName, memberLabels } from "../resources/names.ts";
import { observe } from "./observe.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");

function clusterOf({
  status,
  spec = {},
  metadata = {},
}: {
  status?: Partial<Status>;
  spec?: object;
  metadata?: object;
} = {}) {
  return {
    metadata: {
      name: "db",
      namespace: "default",
      uid: "u1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: { size: 3, version: "3.6.16", ...spec },
    ...(status ? { status } : {}),
  } as unknown as EtcdClusterObject;
}

const ours = clusterName(clusterOf());
const pod = (
  name: string,
  { node, phase = "Running", deleting }: { node?: string; phase?: string; deleting?: boolean } = {},
) => ({
  metadata: {
    name,
    uid: `pod-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { ...memberLabels(ours, name), [labels.role]: "voter" },
    ownerReferences: [{ uid: "u1" }],
    ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  },
  spec: { nodeName: node },
  status: { phase },
});
const claim = (
  name: string,
  marks: Record<string, string> = {},
  { deleting = false, labelled = true } = {},
) => ({
  metadata: {
    name,
    uid: `claim-${name}`,
    labels: labelled ? claimLabels(ours, name) : {},
    annotations: marks,
    ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  },
});
const { clusterId, clusterUid, memberId, fenced } = annotations;
const entry = (id: string, name: string, change: Partial<EtcdMember> = {}): EtcdMember => ({
  id,
  name,
  peerUrls: [`http://${name}.db.default.svc:2380`],
  clientUrls: [],
  learner: false,
  ...change,
});
const voter = (name: string, id: string, change: Partial<Member> = {}): Member => ({
  name,
  id,
  phase: "Voter",
  claimUid: `claim-${name}`,
  template: "t",
  ...change,
});

interface World {
  readonly pods?: readonly object[];
  readonly claims?: readonly object[];
  /** Claims that the cache does not show. */
  readonly hidden?: readonly { readonly metadata: { readonly name: string } }[];
  readonly trials?: readonly object[];
  readonly nodes?: readonly object[];
  readonly peers?: object;
  readonly restoreFrom?: object;
  /** Undefined: no quorum. */
  readonly list?: { readonly clusterId: string; readonly members: readonly EtcdMember[] };
  readonly localList?: { readonly clusterId: string; readonly members: readonly EtcdMember[] };
  readonly statuses?: Readonly<Record<string, Partial<MemberStatus>>>;
  readonly progress?: Readonly<Record<string, object>>;
  readonly certificates?: object;
  readonly clock?: { now(): number; monotonic(): number };
  readonly secret?: object;
  readonly cronDue?: Date;
}

class Seen {
  readonly connected: string[] = [];
  readonly addresses: EtcdAddress[] = [];
  readonly looked: string[] = [];
  readonly crons: unknown[] = [];
  open = 0;

  async look(object: EtcdClusterObject, world: World = {}) {
    const { pods = [], claims = [], hidden = [], trials = [], nodes = [] } = world;
    const everything = [...claims, ...hidden] as (typeof hidden)[number][];
    const ctx = {
      own: {
        pods: { list: () => pods },
        claims: { list: () => claims },
        trials: { list: () => trials },
        peers: { get: () => world.peers },
      },
      read: { nodes, restoreFrom: world.restoreFrom },
      client: {
        kind: ({ kind }: { kind: string }) => ({
          list: async ({ namespace }: { namespace: string }) => {
            this.looked.push(`list ${namespace}`);
            return { items: everything };
          },
          find: async ({ name }: { name: string }) => {
            if (kind === "Secret") return world.secret;
            this.looked.push(name);
            return everything.find(({ metadata }) => metadata.name === name);
          },
        }),
      },
      connect: async ({ pod: { name } }: { pod: { name: string } }, port: number) => {
        this.connected.push(`${name}:${port}`);
        this.open++;
        return { host: name, port, [Symbol.asyncDispose]: async () => void this.open-- };
      },
      signal: new AbortController().signal,
      clock: world.clock ?? { now: () => nowMs, monotonic: () => 0 },
      cron: (...asked: unknown[]) => {
        this.crons.push(...asked);
        return { due: world.cronDue };
      },
    } as unknown as EtcdContext;
    const fail = async () => {
      throw new Error("no answer");
    };
    const dial = (address: EtcdAddress) => {
      this.addresses.push(address);
      const status = world.statuses?.[address.host];
      const base = { learner: false, leader: "1", memberId: "1", raftIndex: 1n, raftTerm: 1n, ...status };
      const tell = (value: unknown) => (value === undefined ? fail : async () => value);
      return {
        status: tell(status && base),
        members: tell(world.list),
        localMembers: tell(world.localList),
        alarms: tell([]),
        versions: tell({ server: "3.6.16", cluster: "3.6.0" }),
        get: tell({ revision: 1n }),
        authentication: tell("in"),
        progress: tell(world.progress?.[address.host]),
      } as never;
    };
    const certificates = (world.certificates ?? {}) as never;
    return await observe(object, ctx, { dial, certificates, sessions: new Map() });
  }
}

const see = async (object: EtcdClusterObject, world?: World) =>
  (await new Seen().look(object, world)).observed;
const signed = (id: string, uid = "u1") => ({ [clusterId]: "c1", [clusterUid]: uid, [memberId]: id });
const running = { clusterId: "c1", members: [voter("db-0", "a0")] };
/** `c1` in decimal, as etcd writes it. */
const c1 = "193";
const a0 = entry("160", "db-0");

describe("the objects of a cluster", () => {
  test("are known by their names, whatever their labels say", async () => {
    const { members, spareClaims } = await see(clusterOf({ status: running }), {
      pods: [pod("db-0"), pod("other-0"), pod("db-x")],
      claims: [claim("db-0"), claim("db-7"), claim("db-8", {}, { deleting: true }), claim("other-1")],
    });
    expect(members).toHaveLength(1);
    expect(members[0]).toMatchObject({
      record: { name: "db-0" },
      pod: { uid: "pod-db-0", drifted: false },
      claim: { uid: "claim-db-0", drifted: false },
    });
    expect(spareClaims).toEqual(["db-7"]);
  });

  test("give the next number: above all that anything carries", async () => {
    const next = async (status: Partial<Status>, world: World) =>
      (await see(clusterOf({ status }), world)).status.nextMember;
    expect(await next(running, {})).toBe(1);
    expect(await next(running, { pods: [pod("db-4")] })).toBe(5);
    expect(await next(running, { claims: [claim("db-5")] })).toBe(6);
    expect(await next({ ...running, nextMember: 9 }, { claims: [claim("db-5")] })).toBe(9);
  });

  test("before it has a status", async () => {
    const seen = new Seen();
    const { observed } = await seen.look(clusterOf(), { pods: [pod("db-0")] });
    expect(observed).toMatchObject({ members: [], nowMs, spareClaims: [], unavailableSinceMs: undefined });
    expect(observed.status).not.toHaveProperty("clusterId");
    expect(observed.status).toMatchObject({ nextMember: 1, members: [] });
    expect(seen.connected).toEqual(["db-0:2379"]);
  });

  test("show where a member runs, and that its node is about to be drained", async () => {
    const nodes = [{ metadata: { name: "n1" }, spec: { unschedulable: true } }, { metadata: { name: "n2" } }];
    const on = async (node?: string) =>
      (
        await see(clusterOf({ status: running }), {
          nodes,
          pods: node === "" ? [] : [pod("db-0", { node } as never)],
        })
      ).members[0];
    expect(await on("n1")).toMatchObject({ nodeCordoned: true });
    expect(await on("n2")).toMatchObject({ nodeCordoned: false });
    expect(await on()).toMatchObject({ nodeCordoned: false });
    expect(await on("")).toMatchObject({ nodeCordoned: false, pod: undefined });
  });

  test("own pods with the Service of the peers", async () => {
    const drifted = async (peers?: object) =>
      (await see(clusterOf({ status: running }), { pods: [pod("db-0")], ...(peers ? { peers } : {}) }))
        .members[0]?.pod?.drifted;
    expect(await drifted()).toBe(false);
    expect(await drifted({ metadata: { name: "db", uid: "s" } })).toBe(true);
  });
});

describe("members are asked", () => {
  test("where their pods run, and not where they have ended", async () => {
    const seen = new Seen();
    const gathered = await seen.look(clusterOf({ status: running }), {
      pods: [pod("db-0"), pod("db-1", { phase: "Failed" }), pod("other-0")],
      statuses: { "db-0": {} },
      list: { clusterId: c1, members: [a0] },
    });
    expect(seen.connected).toEqual(["db-0:2379"]);
    expect(seen.open).toBe(1);
    await gathered[Symbol.asyncDispose]();
    expect(seen.open).toBe(0);
  });

  test("for their metrics, once there is a cluster and as long as no quorum answers", async () => {
    const ports = async (status: Partial<Status>) => {
      const seen = new Seen();
      await seen.look(clusterOf({ status }), { pods: [pod("db-0")] });
      return seen.connected;
    };
    expect(await ports(running)).toEqual(["db-0:2379", "db-0:2381"]);
    expect(await ports({})).toEqual(["db-0:2379"]);
  });

  test("with certificates, by the name in the cluster's DNS", async () => {
    const addressed = async (certificates: object) => {
      const seen = new Seen();
      await seen.look(clusterOf({ status: running }), { pods: [pod("db-0")], certificates });
      return seen.addresses[0];
    };
    expect(await addressed({ material: { ca: "ca" } })).toEqual({
      host: "db-0",
      port: 2379,
      tls: { ca: "ca", serverName: "db-0.db.default.svc" },
    });
    expect(await addressed({})).toEqual({ host: "db-0", port: 2379 });
  });

  test("to read through each of them while a rollout is under way", async () => {
    const world: World = {
      pods: [pod("db-0")],
      statuses: { "db-0": {} },
      list: { clusterId: c1, members: [a0] },
    };
    const read = async (status: Partial<Status>) =>
      (await see(clusterOf({ status }), world)).members[0]?.readThrough;
    expect(await read(running)).toBeUndefined();
    expect(await read({ ...running, rollout: { hash: "t", recipe: {} } as never })).toBe(true);
  });
});

describe("the id of the cluster", () => {
  const idOf = async (object: EtcdClusterObject, world: World) => (await see(object, world)).status.clusterId;
  const formed = {
    metadata: { name: "db", uid: "s", annotations: { [clusterUid]: "u1", [clusterId]: "c9" } },
  };

  test("is that of the status, of the claims, or of the Service that was there when it formed", async () => {
    const kept = { claims: [claim("db-0", signed("a0"))], peers: formed };
    expect(await idOf(clusterOf({ status: { clusterId: "c0" } }), kept)).toBe("c0");
    expect(await idOf(clusterOf(), kept)).toBe("c1");
    expect(await idOf(clusterOf(), { peers: formed })).toBe("c9");
    expect(await idOf(clusterOf(), {})).toBeUndefined();
  });

  test("is not that of volumes that a restore stands against", async () => {
    const spec = { restoreFrom: { backup: "nightly" } };
    const observed = await see(clusterOf({ spec }), { claims: [claim("db-0", signed("a0", "u0"))] });
    expect(observed.status.clusterId).toBeUndefined();
    expect(observed.earlierVolumes).toEqual(["db-0"]);
    expect(observed.members).toEqual([]);
    expect(observed.restore).toBeDefined();
  });

  test("decides whether a restore is looked at", async () => {
    const spec = { restoreFrom: { backup: "nightly" } };
    expect((await see(clusterOf({ spec, status: running }))).restore).toBeUndefined();
    expect((await see(clusterOf({ spec }))).restore).toBeDefined();
  });
});

describe("volumes of an earlier cluster", () => {
  const spec = { restoreFrom: { backup: "nightly" } };
  const earlier = async (object: EtcdClusterObject, ...claims: object[]) =>
    (await see(object, { claims })).earlierVolumes;
  test.each([
    ["one of an earlier cluster", clusterOf({ spec }), claim("db-0", signed("a0", "u0")), ["db-0"]],
    ["without a restore", clusterOf(), claim("db-0", signed("a0", "u0")), []],
    [
      "once the cluster has formed",
      clusterOf({ spec, status: { clusterId: "c1" } }),
      claim("db-0", signed("a0", "u0")),
      [],
    ],
    ["one without data", clusterOf({ spec }), claim("db-0", { [clusterUid]: "u0" }), []],
    ["one of this cluster", clusterOf({ spec }), claim("db-0", signed("a0", "u1")), []],
    [
      "one that was set aside",
      clusterOf({ spec }),
      claim("db-0", { ...signed("a0", "u0"), [fenced]: "" }),
      [],
    ],
    [
      "one that is being deleted",
      clusterOf({ spec }),
      claim("db-0", signed("a0", "u0"), { deleting: true }),
      [],
    ],
  ])("%s", async (_, object, found, expected) => {
    expect(await earlier(object, found)).toEqual(expected);
  });
});

describe("a claim that the cache does not show", () => {
  const hidden = (marks: Record<string, string>, name = "db-0") => [claim(name, marks, { labelled: false })];

  test("is looked up for a member that has one", async () => {
    const seen = new Seen();
    const { observed } = await seen.look(clusterOf({ status: running }), { hidden: hidden({}) });
    expect(observed.members[0]).toMatchObject({ claim: { uid: "claim-db-0", drifted: true } });
    expect(seen.looked).toEqual(["db-0"]);
  });

  test("counts when it is the record's, or signed for its member, and not otherwise", async () => {
    const found = async (change: Partial<Member>, marks: Record<string, string>) =>
      (
        await see(clusterOf({ status: { ...running, members: [voter("db-0", "a0", change)] } }), {
          hidden: hidden(marks),
        })
      ).members[0]?.claim !== undefined;
    expect(await found({}, {})).toBe(true);
    expect(await found({ claimUid: "other" }, signed("a0"))).toBe(true);
    expect(await found({ claimUid: "other" }, signed("b0"))).toBe(false);
  });

  test("is not looked up for a member that has no id, or whose claim is seen", async () => {
    const looked = async (change: object, claims: readonly object[]) => {
      const seen = new Seen();
      const members = [{ ...voter("db-0", "a0"), ...change }] as Member[];
      await seen.look(clusterOf({ status: { ...running, members } }), { claims, hidden: [] });
      return seen.looked;
    };
    expect(await looked({ id: undefined }, [])).toEqual([]);
    expect(await looked({}, [claim("db-0")])).toEqual([]);
    expect(await looked({}, [])).toEqual(["db-0"]);
  });

  test("is looked for among all of the namespace, where the status knows of no cluster", async () => {
    const seen = new Seen();
    const { observed } = await seen.look(clusterOf(), {
      claims: [claim("db-1", signed("a1"))],
      hidden: [
        ...hidden(signed("a0")),
        ...hidden({}, "db-2"),
        ...hidden(signed("a3"), "other-3"),
        claim("db-1", signed("b1"), { labelled: false }),
      ],
    });
    expect(seen.looked).toEqual(["list default"]);
    expect(observed.members.map(({ record: { name, id } }) => `${name} ${id}`)).toEqual([
      "db-0 a0",
      "db-1 a1",
    ]);
    expect(observed.spareClaims).toEqual([]);
  });
});

describe("etcd's list", () => {
  const world = (list: World["list"], more: World = {}): World => ({
    pods: [pod("db-0")],
    statuses: { "db-0": {} },
    ...(list ? { list } : {}),
    ...more,
  });

  test("shows members that nobody knows", async () => {
    const stranger = entry("255", "x");
    const observed = await see(
      clusterOf({ status: running }),
      world({ clusterId: c1, members: [a0, stranger] }),
    );
    expect(observed.list?.members).toHaveLength(2);
    expect(observed.unknownMembers).toEqual([stranger]);
    expect(observed.members[0]?.entry).toEqual(a0);
    expect(observed.clusterVersion).toBe("3.6.0");
  });

  test("of another cluster says nothing", async () => {
    const observed = await see(clusterOf({ status: running }), world({ clusterId: "7", members: [a0] }));
    expect(observed.list).toBeUndefined();
    expect(observed.members[0]?.entry).toBeUndefined();
  });

  test("of a cluster that is not known yet is shown, and makes no records", async () => {
    const observed = await see(clusterOf(), world({ clusterId: "7", members: [a0] }));
    expect(observed.list?.clusterId).toBe("7");
    expect(observed.members).toEqual([]);
    expect(observed.unknownMembers).toEqual([a0]);
  });

  test("makes records of members whose status was lost, from the template in use", async () => {
    const status = { clusterId: "c1", template: { hash: "t2" }, rollout: { hash: "t3" } } as never;
    const observed = await see(
      clusterOf({ status }),
      world({ clusterId: c1, members: [a0, entry("161", "db-1", { learner: true })] }),
    );
    expect(observed.status.members).toEqual([
      { name: "db-0", id: "a0", phase: "Voter", template: "t2" },
      { name: "db-1", id: "a1", phase: "Learner", template: "t2" },
    ]);
  });

  test("keeps templates that there are, and replaces others", async () => {
    const members = ["t2", "t3", "t4"].map((template, each) => voter(`db-${each}`, `a${each}`, { template }));
    const status = { clusterId: "c1", members, template: { hash: "t2" }, rollout: { hash: "t3" } } as never;
    const observed = await see(clusterOf({ status }));
    expect(observed.members.map(({ record }) => record.template)).toEqual(["t2", "t3", "t2"]);
  });
});

describe("without a quorum, members that nobody knows", () => {
  const world = (localList: World["localList"], more: World = {}): World => ({
    pods: [pod("db-0")],
    statuses: { "db-0": { leader: undefined } },
    ...(localList ? { localList } : {}),
    ...more,
  });

  test("are those that a single member lists", async () => {
    const stranger = entry("255", "x");
    const ours = { clusterId: c1, members: [a0, stranger] };
    expect((await see(clusterOf({ status: running }), world(ours))).unknownMembers).toEqual([stranger]);
    const theirs = { ...ours, clusterId: "7" };
    expect((await see(clusterOf({ status: running }), world(theirs))).unknownMembers).toEqual([]);
  });

  test("are those that metrics name", async () => {
    const progress = { "db-0": { revision: 1n, index: 1n, learner: false, peers: ["160", "255"] } };
    const observed = await see(clusterOf({ status: running }), { pods: [pod("db-0")], progress });
    expect(observed.unknownMembers).toEqual([
      { id: "255", name: "", peerUrls: [], clientUrls: [], learner: false },
    ]);
    expect(observed.members[0]?.progress).toEqual(progress["db-0"]);
  });
});

describe("since when it has been unavailable", () => {
  const at = "2026-01-01T11:00:00Z";
  const since = async (conditions: readonly object[] | undefined, uid = "u1", clock?: World["clock"]) =>
    (
      await see(
        clusterOf({ status: { clusterId: "c1", conditions } as never, metadata: { uid } }),
        clock ? { clock } : {},
      )
    ).unavailableSinceMs;
  const available = (status: string, lastTransitionTime: string = at) => [
    { type: "Degraded", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" },
    { type: "Available", status, lastTransitionTime },
  ];

  test("is what the condition says", async () => {
    expect(await since(available("False"))).toBe(Date.parse(at));
    expect(await since(available("Unknown"))).toBe(Date.parse(at));
    expect(await since(available("True"))).toBeUndefined();
    expect(await since(undefined)).toBeUndefined();
    expect(await since(available("False", "2026-01-01T12:00:00Z"))).toBe(nowMs);
    expect(await since(available("False", "no time"))).toBeUndefined();
  });

  test("is counted by the time that passes, where the clock was set back to before", async () => {
    let passedMs = 1_000;
    let clockMs = nowMs;
    const clock = { now: () => clockMs, monotonic: () => passedMs };
    const ahead = available("False", "2026-01-01T13:00:00Z");
    expect(await since(ahead, "set-back", clock)).toBe(nowMs);
    passedMs += 5_000;
    clockMs += 5_000;
    expect(await since(ahead, "set-back", clock)).toBe(nowMs);
    const later = available("False", "2026-01-01T13:30:00Z");
    expect(await since(later, "set-back", clock)).toBe(clockMs);
    passedMs += 2_000;
    expect(await since(later, "set-back", clock)).toBe(clockMs - 2_000);
    expect(await since(available("True"), "set-back", clock)).toBeUndefined();
    expect(await since(later, "set-back", clock)).toBe(clockMs);
  });
});

describe("what else it says", () => {
  test("the approval of a recovery, and problems with Secrets: of certificates first", async () => {
    const annotated = { annotations: { [annotations.approveRecovery]: "db-0@1" } };
    expect((await see(clusterOf({ metadata: annotated }))).approved).toBe("db-0@1");
    const auth = { spec: { auth: { rootSecret: "root" } } };
    expect((await see(clusterOf(auth))).secretProblem).toContain("the Secret root");
    expect((await see(clusterOf(auth), { certificates: { problem: "no CA" } })).secretProblem).toBe("no CA");
    expect((await see(clusterOf())).secretProblem).toBeUndefined();
  });

  test("that a defragmentation is due since the last one, or since the cluster was made", async () => {
    const spec = { defragmentation: { schedule: "@daily", timeZone: "UTC" } };
    const due = async (status: Partial<Status>, spec_: object, cronDue?: Date) => {
      const seen = new Seen();
      const { observed } = await seen.look(clusterOf({ status, spec: spec_ }), cronDue ? { cronDue } : {});
      return [observed.defragmentationDue, seen.crons];
    };
    const made = { since: new Date("2026-01-01T00:00:00Z"), timeZone: "UTC" };
    const dueAt = new Date("2026-01-01T06:00:00Z");
    expect(await due({}, spec, dueAt)).toEqual([dueAt.toISOString(), ["@daily", made]]);
    expect(await due({}, spec)).toEqual([undefined, ["@daily", made]]);
    const last = { lastDefragmentation: "2026-01-01T05:00:00Z" };
    expect(await due(last, spec)).toEqual([
      undefined,
      ["@daily", { ...made, since: new Date("2026-01-01T05:00:00Z") }],
    ]);
    expect(await due({}, {})).toEqual([undefined, []]);
  });
});
