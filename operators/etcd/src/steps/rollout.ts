/** The beginning of a rollout: nobody is given up for a pod that the API server would not take. */
import { Pod } from "keelson/kinds";
import { statusOf } from "../decide/report.ts";
import { clusterName } from "../resources/names.ts";
import { podFor } from "../resources/pod.ts";
import type { Doing, Scene } from "./act.ts";

export async function beginRollout(scene: Scene, decision: Doing<"beginRollout">): Promise<void> {
  const { ctx, gathered } = scene;
  const { template, message } = decision;
  const status = statusOf(gathered.observed, decision);
  const refusal = await refusalOf(scene, decision);
  if (refusal !== undefined) {
    const { version } = template.recipe;
    ctx.setStatus({ ...status, failedRollout: { hash: template.hash, version, message: refusal } });
    ctx.event("Warning", "RolloutRefused", refusal);
    return;
  }
  ctx.setStatus({ ...status, rollout: template });
  ctx.event("Normal", "RolloutBegins", message);
}

async function refusalOf(
  { cluster, ctx }: Scene,
  { template }: Doing<"beginRollout">,
): Promise<string | undefined> {
  const name = clusterName(cluster);
  const pod = podFor({
    cluster: name,
    member: `${name.name}-try`,
    template,
    start: { mode: "again" },
    role: "learner",
  });
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
