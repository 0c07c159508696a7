/** Pods: created, deleted, annotated with how to start next time. */
import type { ObjectMeta } from "keelson";
import { Pod } from "keelson/kinds";
import { EtcdCluster, type EtcdClusterObject } from "../api/cluster.ts";
import { labels } from "../api/names.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { startSettings } from "../resources/flags.ts";
import { clusterName, memberKey } from "../resources/names.ts";
import { podFor, startAnnotations } from "../resources/pod.ts";
import type { DecisionTo, StepContext } from "./step.ts";

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

/**
 * Two owners. The cluster is the controller: a drain looks for it. But a cluster that is deleted in the foreground
 * would lose its members before its final backup, so the service of the peers, which stays until the end, owns them as
 * well.
 */
function ownersOf(cluster: EtcdClusterObject, ctx: EtcdContext): NonNullable<ObjectMeta["ownerReferences"]> {
  const { name, uid } = cluster.metadata;
  const peers = ctx.own.peers.get()?.metadata;
  return [
    {
      apiVersion: `${EtcdCluster.group}/${EtcdCluster.version}`,
      kind: EtcdCluster.kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    },
    ...(peers ? [{ apiVersion: "v1", kind: "Service", name: peers.name, uid: peers.uid }] : []),
  ];
}

/** By UID: the pod that was seen is deleted, never its successor. Our own budget would refuse an eviction. */
export async function deletePods(
  { cluster, ctx, event }: StepContext,
  { members, now, message, reason }: DecisionTo<"deletePods">,
): Promise<void> {
  for (const member of members) {
    await ctx.own.pods.delete(
      memberKey(clusterName(cluster), member),
      now ? { gracePeriodSeconds: 0 } : undefined,
    );
  }
  event("Normal", reason, message);
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
