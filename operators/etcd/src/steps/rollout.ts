/** The start of a rollout: no member is replaced by a pod that the API server would refuse or that cannot run. */
import { Pod } from "keelson/kinds";
import { failedRollout } from "../decide/failed-rollout.ts";
import { statusOf } from "../decide/report.ts";
import { clusterName } from "../resources/names.ts";
import { podFor, trialFor } from "../resources/pod.ts";
import type { DecisionTo, StepContext } from "./step.ts";

export async function tryTemplate(step: StepContext, decision: DecisionTo<"tryTemplate">): Promise<void> {
  const { ctx, gathered, cluster, event } = step;
  const { template, message } = decision;
  const refusal = await refusalOf(step, decision);
  if (refusal !== undefined) {
    const failed = failedRollout(gathered.observed, template, refusal);
    ctx.setStatus({ ...statusOf(gathered.observed, decision), failedRollout: failed });
    event("Warning", "RolloutRefused", refusal);
    return;
  }
  await ctx.own.trials.apply(template.hash, trialFor(clusterName(cluster), template));
  event("Normal", "RolloutTried", message);
}

export async function endTrials({ ctx }: StepContext): Promise<void> {
  for (const key of ctx.own.trials.entries().keys()) await ctx.own.trials.delete(key);
}

async function refusalOf(
  { cluster, ctx }: StepContext,
  { template }: DecisionTo<"tryTemplate">,
): Promise<string | undefined> {
  const name = clusterName(cluster);
  const member = `${name.name}-try`;
  const pod = podFor({ cluster: name, member, template, start: { mode: "again" }, role: "learner" });
  const metadata = { ...pod.metadata, namespace: name.namespace };
  try {
    await ctx.client.kind(Pod).create({ ...pod, metadata }, { dryRun: true });
    return undefined;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 422 || code === 400 || code === 403) return (error as Error).message;
    throw error;
  }
}
