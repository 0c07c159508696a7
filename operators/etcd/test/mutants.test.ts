/** Operators that make classic mistakes. A scenario must catch each of them; otherwise it proves nothing of ours. */
import { describe, expect, test } from "vitest";
import { decide } from "../src/decide/decide.ts";
import type { Decision } from "../src/decide/decision.ts";
import type { Observed } from "../src/observe/observed.ts";
import * as scenarios from "./scenarios.ts";
import { everyCrash, type Scenario } from "./simulation/explore.ts";

type Decide = (observed: Observed) => Decision;

/** The pod of a member that leaves goes first, as if Kubernetes were the one to ask. */
const podBeforeMember: Decide = (o) => {
  const decision = decide(o);
  if (decision.do !== "removeMember" && decision.do !== "moveLeader") return decision;
  const leaving = o.members.find(({ record }) => record.phase === "Leaving");
  const { name } = leaving?.record ?? {};
  if (name === undefined || !leaving?.pod || leaving.pod.deleting) return decision;
  return { do: "deletePods", members: [name], reason: decision.reason, message: "mutant" };
};

/** Leadership is not passed on before the leader leaves. */
const leaderRemoved: Decide = (o) => {
  const decision = decide(o);
  const leaving = o.members.find(({ record }) => record.phase === "Leaving");
  const via = o.members.find((member) => member !== leaving && member.status && !member.status.learner);
  if (decision.do !== "moveLeader" || !leaving?.entry || !via) return decision;
  const { reason } = decision;
  return {
    do: "removeMember",
    member: leaving.record.name,
    id: leaving.entry.id,
    via: via.record.name,
    reason,
    message: "mutant",
  };
};

/** The leader is restarted like anyone else. */
const leaderRestarted: Decide = (o) => {
  const decision = decide(o);
  if (decision.do !== "moveLeader") return decision;
  return { do: "deletePods", members: [decision.from], reason: decision.reason, message: "mutant" };
};

/** A rollout does not wait for the member before: everyone is taken for healthy. */
const noGate: Decide = (o) => {
  if (!o.status.rollout) return decide(o);
  const leader = o.list?.members[0]?.id;
  const index = o.members.map(({ status }) => status).find((status) => status !== undefined);
  const members = o.members.map((member) => ({
    ...member,
    pod: member.pod && { ...member.pod, ready: true, deleting: false, readyChangedMs: 0 },
    readThrough: true,
    status:
      member.status ??
      (index && leader ? { ...index, leader, version: o.status.rollout?.recipe.version ?? "" } : undefined),
  }));
  return decide({ ...o, members });
};

/** A member's pod begins as it did the first time, whatever has become of its volume. */
const noFence: Decide = (o) => {
  const decision = decide(o);
  if (decision.do === "markVoter") return { ...decision, do: "wait", recheckMs: 60_000 };
  return decision;
};

/** A member that does not answer the operator is taken for lost. */
const removedForSilence: Decide = (o) => {
  const silent = o.members.find(({ record, status }) => record.phase === "Voter" && !status);
  if (!silent || !o.list) return decide(o);
  const members = o.members.map(({ record }) =>
    record === silent.record ? { ...record, phase: "Leaving" as const, message: "mutant" } : record,
  );
  return { do: "record", status: { members }, reason: "Healing", message: "mutant" };
};

/** Volumes of members that left are left behind. */
const claimsLeftBehind: Decide = (o) => {
  const decision = decide(o);
  if (decision.do !== "deleteClaim") return decision;
  const members = o.members.flatMap(({ record }) => (record.name === decision.member ? [] : [record]));
  return { do: "record", status: { members }, reason: decision.reason, message: "mutant" };
};

/** Without a quorum the best survivor is taken at once, though most volumes are still there. */
const hastyRecovery: Decide = (o) => {
  const survivor = o.members.find(({ status }) => status !== undefined);
  if (o.list || !o.status.clusterId || o.status.recovery || !survivor) return decide(o);
  const recovery = { survivor: survivor.record.name, revision: "0", lost: "", phase: "Stopping" as const };
  return { do: "record", status: { recovery }, reason: "Recovering", message: "mutant" };
};

describe("a mistake is caught", () => {
  const mistakes: [string, Decide, Scenario][] = [
    ["the pod goes before its member", podBeforeMember, scenarios.scale],
    ["the leader is removed as it is", leaderRemoved, scenarios.claimDeleted],
    ["the leader is restarted as it is", leaderRestarted, scenarios.settingsChanged],
    ["a rollout that waits for no member", noGate, scenarios.settingsChanged],
    ["a start that is not fenced", noFence, scenarios.volumeWiped],
    ["a member is removed because it is silent", removedForSilence, scenarios.linesBroken],
    ["volumes are left behind", claimsLeftBehind, scenarios.scale],
    ["a recovery without need", hastyRecovery, scenarios.allPodsDeleted],
  ];
  test.each(mistakes)("%s", { timeout: 120_000 }, async (_name, mutant, scenario) => {
    await expect(everyCrash(scenario, { decide: mutant, atMost: 6 })).rejects.toThrow();
  });
});
