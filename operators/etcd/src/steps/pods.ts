/** Pods: made, ended, told how to begin next time. */
import { Pod } from "keelson/kinds";
import { labels } from "../api/names.ts";
import { startSettings } from "../resources/flags.ts";
import { clusterName, memberKey } from "../resources/names.ts";
import { podFor, startAnnotations } from "../resources/pod.ts";
import type { Doing, Scene } from "./act.ts";

export async function createPods({ cluster, ctx }: Scene, { pods }: Doing<"createPods">): Promise<void> {
  const name = clusterName(cluster);
  for (const { member, ...plan } of pods) {
    await ctx.own.pods.apply(memberKey(name, member), podFor({ cluster: name, member, ...plan }));
    ctx.event(
      "Normal",
      "PodCreated",
      `${member} starts (${plan.start.mode}, etcd ${plan.template.recipe.version})`,
    );
  }
}

/** By UID: what we saw ends, never what has taken its place. Eviction would be refused by our own budget. */
export async function deletePods(
  { cluster, ctx }: Scene,
  { members, now, message, reason }: Doing<"deletePods">,
): Promise<void> {
  for (const member of members) {
    await ctx.own.pods.delete(
      memberKey(clusterName(cluster), member),
      now ? { gracePeriodSeconds: 0 } : undefined,
    );
  }
  ctx.event("Normal", reason, message);
}

export async function markVoter({ cluster, ctx }: Scene, { member }: Doing<"markVoter">): Promise<void> {
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
