/** Changes of membership. Each can be repeated without harm: an answer may have been lost. */
import { isEtcdError } from "../engine/errors.ts";
import { hex } from "../engine/etcd.ts";
import { clusterName, memberKey, peerUrl } from "../resources/names.ts";
import { attempt, type DecisionTo, etcdOf, type StepContext, type StepResult } from "./step.ts";

/** A learner's peer URL is unique, so etcd itself refuses to add it twice. */
export async function addLearner(
  step: StepContext,
  { member, via }: DecisionTo<"addLearner">,
): Promise<StepResult> {
  const url = peerUrl(clusterName(step.cluster), member);
  return await attempt(step, async (signal) => {
    try {
      const { added } = await etcdOf(step, via).addLearner([url], { signal });
      step.event("Normal", "MemberAdded", `${member} is a learner (${hex(added.id)})`);
    } catch (error) {
      if (!isEtcdError(error, "PeerUrlExists")) throw error;
    }
  });
}

export async function promote(
  step: StepContext,
  { member, id, via }: DecisionTo<"promote">,
): Promise<StepResult> {
  return await attempt(step, async (signal) => {
    await etcdOf(step, via).promote(id, { signal });
    step.event("Normal", "MemberPromoted", `${member} votes`);
  });
}

export async function removeMember(
  step: StepContext,
  decision: DecisionTo<"removeMember">,
): Promise<StepResult> {
  const { id, via, message } = decision;
  const contradiction = await contradictionOf(step, decision);
  if (contradiction !== undefined) return { refused: contradiction };
  return await attempt(step, async (signal) => {
    await etcdOf(step, via).remove(id, { signal });
    step.event("Normal", "MemberRemoved", message);
  });
}

/** A member that is removed for what it has lost is looked at once more, past every cache. */
async function contradictionOf(
  { ctx, cluster, gathered }: StepContext,
  { member }: DecisionTo<"removeMember">,
): Promise<string | undefined> {
  const seen = gathered.observed.members.find(({ record }) => record.name === member);
  if (seen?.pod?.ready !== false) return undefined;
  const pod = await ctx.own.pods.live(memberKey(clusterName(cluster), member));
  const isReady = pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? `${member} is ready again` : undefined;
}

export async function moveLeader(step: StepContext, decision: DecisionTo<"moveLeader">): Promise<StepResult> {
  const { from, toId, message } = decision;
  return await attempt(step, async (signal) => {
    await etcdOf(step, from).moveLeader(toId, { signal });
    step.event("Normal", "LeaderMoved", message);
  });
}
