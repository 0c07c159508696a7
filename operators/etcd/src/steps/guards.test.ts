/** What stands between a decision and something that cannot be taken back. */
import { expect, test } from "vitest";
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { enableAuthentication } from "./authentication.ts";
import { deleteClaim, growClaim } from "./claims.ts";
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
    log: { info: () => {} },
    client: {
      kind: () => ({
        find: async () => ({ metadata: { uid: "u", generation: asked++ < changedAfter ? 1 : 2 } }),
        patch: async () => void calls.push("patch"),
      }),
    },
    assertLeading: () => {
      if (!leads) throw new Error("the lease is lost");
    },
    own: {
      pods: {
        live: async () => ({ status: { conditions } }),
        delete: async (key: string) => void calls.push(`delete pod ${key}`),
      },
      claims: {
        get: () => ({ metadata: { name: "c-1", namespace: "default", uid: "v" } }),
        live: async () => ({ metadata: { resourceVersion: "42", ...deletion } }),
        delete: async (_: string, options: object = {}) =>
          void calls.push(`delete ${JSON.stringify(options)}`),
      },
    },
  };
  const etcd = {
    remove: async (id: string) => void calls.push(`remove ${id}`),
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
  } as unknown as StepContext;
  return { step, calls };
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

const changed = { refused: "the spec has changed meanwhile" };

test("no pod is ended, no member removed and no volume grown by a spec that has changed since", async () => {
  const { step, calls } = stepOf({ changedAfter: 0 });
  const decision = { do: "deletePods", members: ["c-1"], reason: "Hibernating", message: "" };
  expect(await deletePods(step, decision as DecisionTo<"deletePods">)).toEqual(changed);
  expect(await removeMember(step, removal as DecisionTo<"removeMember">)).toEqual(changed);
  const growth = { do: "growClaim", member: "c-1", reason: "Resizing", message: "" };
  expect(await growClaim(step, growth as DecisionTo<"growClaim">)).toEqual(changed);
  expect(calls).toEqual([]);
  const same = stepOf({});
  expect(await growClaim(same.step, growth as DecisionTo<"growClaim">)).toBe("done");
  expect(same.calls).toEqual(["patch"]);
});

test("etcd asks for no passwords when the spec has changed since it asked for that", async () => {
  const decision = { do: "enableAuthentication", via: "c-0", reason: "Securing", message: "" };
  const enabled = async (given: Given) => {
    const { step, calls } = stepOf(given);
    return [await enableAuthentication(step, decision as DecisionTo<"enableAuthentication">), ...calls];
  };
  expect(await enabled({ changedAfter: 0 })).toEqual([changed]);
  expect(await enabled({})).toEqual(["done", "enable authentication"]);
});

test("members that still run go on when hibernation is taken back while the first one is stopped", async () => {
  const { step, calls } = stepOf({ changedAfter: 1 });
  const decision = { do: "deletePods", members: ["c-0", "c-1"], reason: "Hibernating", message: "" };
  expect(await deletePods(step, decision as DecisionTo<"deletePods">)).toEqual(changed);
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
