/** What stands between a decision and something that cannot be taken back. */
import { expect, test } from "vitest";
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { Decision } from "../decide/decision.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { act } from "./act.ts";
import { deleteClaim } from "./claims.ts";
import { finalize } from "./deletion.ts";
import { removeMember } from "./membership.ts";
import { deletePods } from "./pods.ts";
import { attempt, type DecisionTo, type StepContext } from "./step.ts";

interface Given {
  readonly leads?: boolean;
  /** Whether the pod is ready: as it was observed, and as it is now. */
  readonly observedReady?: boolean;
  readonly liveReady?: boolean;
  /** Whether the claim is being deleted: as it was observed, and as it is now. */
  readonly observedDeleting?: boolean;
  readonly liveDeleting?: boolean;
  /** The pass decided by generation 1; how many questions later someone changes the spec. */
  readonly changedAfter?: number;
  /** What the API server has of the cluster by now; undefined when it is gone. */
  readonly live?: { readonly metadata: object; readonly spec?: object } | undefined;
}

function stepOf(given: Given) {
  const { leads = true, observedReady = false, liveReady = false } = given;
  const { observedDeleting = false, liveDeleting = false, changedAfter = Number.POSITIVE_INFINITY } = given;
  let asked = 0;
  const deletion = liveDeleting ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {};
  const calls: string[] = [];
  const conditions = [{ type: "Ready", status: liveReady ? "True" : "False" }];
  const ctx = {
    signal: new AbortController().signal,
    event: () => {},
    log: { info: () => {} },
    client: {
      kind: () => ({
        find: async () => {
          const live = { metadata: { uid: "u", generation: asked++ < changedAfter ? 1 : 2 } };
          return "live" in given ? given.live : live;
        },
        patch: async () => void calls.push("patch"),
      }),
    },
    assertLeading: () => {
      if (!leads) throw new Error("the lease is lost");
    },
    own: {
      pods: {
        get: () => undefined,
        apply: async (key: string) => void calls.push(`create pod ${key}`),
        live: async () => ({ status: { conditions } }),
        delete: async (key: string) => void calls.push(`delete pod ${key}`),
      },
      claims: {
        get: () => ({ metadata: { name: "c-1", namespace: "default", uid: "v" } }),
        apply: async (key: string) => void calls.push(`create claim ${key}`),
        live: async () => ({ metadata: { resourceVersion: "42", ...deletion } }),
        delete: async (_: string, options: object = {}) =>
          void calls.push(`delete ${JSON.stringify(options)}`),
      },
    },
  };
  const etcd = {
    remove: async (id: string) => void calls.push(`remove ${id}`),
    addLearner: async () => {
      calls.push("add a learner");
      return { added: { id: 7n } };
    },
    promote: async (id: string) => void calls.push(`promote ${id}`),
    moveLeader: async (id: string) => void calls.push(`move the leader to ${id}`),
    enableAuthentication: async () => void calls.push("enable authentication"),
  };
  const members = [
    { record: { name: "c-1" }, pod: { ready: observedReady }, claim: { deleting: observedDeleting } },
  ];
  const step = {
    ctx,
    cluster: {
      metadata: { name: "c", namespace: "default", uid: "u", generation: 1 },
      spec: { storage: { size: "2Gi" } },
    },
    gathered: { observed: { members, status: {} }, answers: { etcd: () => etcd } },
    event: () => {},
    onAction: () => {},
  } as unknown as StepContext;
  const acted = async (decision: object) => {
    const outcome = await act(step, { reason: "Because", message: "", ...decision } as unknown as Decision);
    const refused = /refused for now: (.*)/.exec("message" in outcome ? (outcome.message ?? "") : "");
    return [...(refused ? [refused[1]] : []), ...calls];
  };
  return { step, calls, acted };
}

const removal = { do: "removeMember", member: "c-1", id: "7", via: "c-0", reason: "Healing", message: "" };

test("etcd is not called by an operator that has lost its lease", async () => {
  const { step, calls } = stepOf({ leads: false });
  await expect(attempt(step, async () => void calls.push("called"))).rejects.toThrow("the lease is lost");
  await expect(removeMember(step, removal as DecisionTo<"removeMember">)).rejects.toThrow(
    "the lease is lost",
  );
  expect(calls).toEqual([]);
});

test("a member that has come back meanwhile is not removed", async () => {
  const back = stepOf({ liveReady: true });
  const refused = await removeMember(back.step, removal as DecisionTo<"removeMember">);
  expect(refused).toEqual({ refused: "c-1 is ready again" });
  expect(back.calls).toEqual([]);
  const gone = stepOf({});
  expect(await removeMember(gone.step, removal as DecisionTo<"removeMember">)).toBe("done");
  expect(gone.calls).toEqual(["remove 7"]);
});

test("a pod is not ended when its claim is being deleted and the decision was made without that knowledge", async () => {
  const decision = { do: "deletePods", members: ["c-1"], reason: "Hibernating", message: "" };
  const ended = async (given: Given) => {
    const { step, calls } = stepOf(given);
    return [await deletePods(step, decision as DecisionTo<"deletePods">), ...calls];
  };
  expect(await ended({ liveDeleting: true })).toEqual([{ refused: "the claim c-1 is being deleted" }]);
  expect(await ended({ observedDeleting: true, liveDeleting: true })).toEqual(["done", "delete pod 1"]);
  expect(await ended({})).toEqual(["done", "delete pod 1"]);
});

const growth = { do: "growClaim", member: "c-1" };
const passwords = { do: "enableAuthentication", via: "c-0" };
const ending = { do: "deletePods", members: ["c-1"] };

test.each<[string, object, string]>([
  ["no pod is ended", ending, "delete pod 1"],
  ["no member is removed", removal, "remove 7"],
  ["no volume is grown", growth, "patch"],
  ["no volume is set aside", { do: "fenceClaim", member: "c-1" }, "patch"],
  ["no volume is deleted", { do: "deleteClaim", member: "c-1" }, `delete {"resourceVersion":"42"}`],
  ["no password is required", passwords, "enable authentication"],
])("%s by a spec that has changed since", async (_what, decision, call) => {
  expect(await stepOf({ changedAfter: 0 }).acted(decision)).toEqual(["the spec has changed meanwhile"]);
  expect(await stepOf({}).acted(decision)).toEqual([call]);
});

const joining = { member: "c-1", via: "c-0", id: "7" };
const deletionTimestamp = "2026-01-01T12:00:00Z";

test.each<[string, object, string]>([
  ["a member", { do: "addLearner", ...joining }, "add a learner"],
  ["a voter", { do: "promote", ...joining }, "promote 7"],
  ["a volume", { do: "createClaim", member: "c-1" }, "create claim 1"],
  ["another leader", { do: "moveLeader", from: "c-0", toId: "7" }, "move the leader to 7"],
])("%s is not made when the cluster was paused, deleted or replaced meanwhile", async (_, decision, call) => {
  const live = (metadata: object, spec: object = {}) =>
    stepOf({ live: { metadata: { uid: "u", generation: 2, ...metadata }, spec } }).acted(decision);
  expect(await live({}, { paused: true })).toEqual(["spec.paused is set"]);
  expect(await live({ deletionTimestamp })).toEqual(["the object is being deleted"]);
  expect(await live({ uid: "another" })).toEqual(["the object is gone"]);
  expect(await stepOf({ live: undefined }).acted(decision)).toEqual(["the object is gone"]);
  expect(await live({}, { size: 5 })).toEqual([call]);
});

test("a mark is put on a volume without asking for the spec", async () => {
  const { acted } = stepOf({ live: undefined });
  expect(await acted({ do: "repairClaim", member: "c-1" })).toEqual(["patch"]);
});

test("members that still run go on when hibernation is taken back while the first one is stopped", async () => {
  const { step, calls } = stepOf({ changedAfter: 1 });
  const decision = { do: "deletePods", members: ["c-0", "c-1"], reason: "Hibernating", message: "" };
  const refused = { refused: "the spec has changed meanwhile" };
  expect(await deletePods(step, decision as DecisionTo<"deletePods">)).toEqual(refused);
  expect(calls).toEqual(["delete pod 0"]);
});

test("a volume is deleted only as it was just seen", async () => {
  const { step, calls } = stepOf({});
  const decision = { do: "deleteClaim", member: "c-1", reason: "Healing", message: "" };
  await deleteClaim(step, decision as DecisionTo<"deleteClaim">);
  expect(calls).toEqual([`delete {"resourceVersion":"42"}`]);
});

test("the volumes of a deleted cluster are not deleted when the spec has changed since it asked for that", async () => {
  const deleted = async (generation: number) => {
    const calls: string[] = [];
    const slot = { entries: () => new Map(), list: () => [], delete: async () => {} };
    const claims = {
      ...{ list: () => [{ metadata: { name: "c-1" } }], entries: () => new Map([["1", {}]]) },
      delete: async (key: string) => void calls.push(`delete claim ${key}`),
    };
    const ctx = {
      ...{ setCondition: () => {}, event: () => {} },
      client: { kind: () => ({ find: async () => ({ metadata: { uid: "u", generation } }) }) },
      own: { pods: slot, trials: slot, claims },
    } as unknown as EtcdContext;
    const metadata = { name: "c", namespace: "default", uid: "u", generation: 2 };
    const cluster = { metadata, spec: { deletion: { volumes: "Remove" } } } as unknown as EtcdClusterObject;
    const outcome = await finalize(cluster, ctx, () => Promise.reject(new Error("there is nothing to do")));
    return [outcome, ...calls];
  };
  expect(await deleted(2)).toMatchObject([
    { message: "c-1: the volumes are being deleted" },
    "delete claim 1",
  ]);
  expect(await deleted(3)).toMatchObject([
    { message: "the volumes are not deleted yet: the spec has changed meanwhile" },
  ]);
});
