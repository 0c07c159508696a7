/** Pods: created, deleted, annotated with how to start next time. */
import { Pod } from "keelson/kinds";
import { labels } from "../api/names.ts";
import { obstacleOf } from "../observe/pod-view.ts";
import { startSettings } from "../resources/flags.ts";
import { clusterName, memberKey, memberLabels } from "../resources/names.ts";
import { ownersOf } from "../resources/owners.ts";
import { podFor, startAnnotations } from "../resources/pod.ts";
import { changeOfSpec, type DecisionTo, type StepContext, type StepResult } from "./step.ts";

export async function createPods(
  { cluster, ctx, event }: StepContext,
  { pods }: DecisionTo<"createPods">,
): Promise<void> {
  const name = clusterName(cluster);
  for (const { member, ...plan } of pods) {
    const pod = podFor({ cluster: name, member, ...plan });
    const metadata = { ...pod.metadata, ownerReferences: ownersOf(cluster, ctx) };
    await ctx.own.pods.apply(memberKey(name, member), { ...pod, metadata });
    event(
      "Normal",
      "PodCreated",
      `${member} starts (${plan.start.mode}, etcd ${plan.template.recipe.version})`,
    );
  }
}

/** By UID: the pod that was seen is deleted, never its successor. Our own budget would refuse an eviction. */
export async function deletePods(
  step: StepContext,
  { members, now, message, reason }: DecisionTo<"deletePods">,
): Promise<StepResult> {
  const { cluster, ctx, event } = step;
  for (const member of members) {
    if (await losesVolume(step, member)) return { refused: `the claim ${member} is being deleted` };
    if (await runsByNow(step, member)) return { refused: `the pod ${member} runs by now` };
  }
  for (const member of members) {
    // Before each one: when a person takes hibernation back, the members that still run stay.
    const change = await changeOfSpec(step);
    if (change !== undefined) return { refused: change };
    await ctx.own.pods.delete(
      memberKey(clusterName(cluster), member),
      now ? { gracePeriodSeconds: 0 } : undefined,
    );
  }
  event("Normal", reason, message);
  return "done";
}

/** A claim that is being deleted goes with its pod. Whoever decided did not know; so it is asked for past every cache. */
async function losesVolume({ cluster, ctx, gathered }: StepContext, member: string): Promise<boolean> {
  const seen = gathered.observed.members.find(({ record }) => record.name === member);
  if (!seen?.claim || seen.claim.deleting) return false;
  const claim = await ctx.own.claims.live(memberKey(clusterName(cluster), member));
  return claim?.metadata.deletionTimestamp !== undefined;
}

/** A pod that could not run may have begun to, while others were waited for that do not answer. */
async function runsByNow({ cluster, ctx, gathered }: StepContext, member: string): Promise<boolean> {
  const seen = gathered.observed.members.find(({ record }) => record.name === member);
  if (seen?.pod?.obstacle === undefined) return false;
  const pod = await ctx.own.pods.live(memberKey(clusterName(cluster), member));
  return pod?.metadata.uid === seen.pod.uid && obstacleOf(pod) === undefined;
}

export async function markVoter(
  { cluster, ctx }: StepContext,
  { member }: DecisionTo<"markVoter">,
): Promise<void> {
  const name = clusterName(cluster);
  const seen = ctx.own.pods.get(memberKey(name, member));
  if (!seen) return;
  const { namespace, uid } = seen.metadata;
  const body = {
    metadata: {
      uid,
      labels: { [labels.role]: "voter" },
      annotations: startAnnotations(startSettings(name, member, { mode: "again" })),
    },
  };
  await ctx.client.kind(Pod).patch({ namespace, name: member }, { type: "merge", body });
}

export async function repairPod(
  { cluster, ctx, event }: StepContext,
  { member, message }: DecisionTo<"repairPod">,
): Promise<void> {
  const name = clusterName(cluster);
  const seen = ctx.own.pods.list().find(({ metadata }) => metadata.name === member);
  if (!seen) return;
  const { namespace, uid } = seen.metadata;
  const body = {
    metadata: { uid, labels: memberLabels(name, member), ownerReferences: ownersOf(cluster, ctx) },
  };
  await ctx.client.kind(Pod).patch({ namespace, name: member }, { type: "merge", body: body as never });
  event("Warning", "PodRepaired", message);
}
