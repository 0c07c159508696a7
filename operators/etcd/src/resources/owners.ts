/** The owners of a member's pod. */
import type { ObjectMeta } from "keelson";
import { EtcdCluster, type EtcdClusterObject } from "../api/cluster.ts";
import type { EtcdContext } from "./declaration.ts";

/**
 * Two owners. The cluster is the controller: a drain looks for it. But a cluster that is deleted in the foreground
 * would lose its members before its final backup, so the service of the peers, which stays until the end, owns them as
 * well.
 */
export function ownersOf(
  cluster: EtcdClusterObject,
  ctx: EtcdContext,
): NonNullable<ObjectMeta["ownerReferences"]> {
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
