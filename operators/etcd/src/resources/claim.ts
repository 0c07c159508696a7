/** The claim of one member: its data, and on it whose data that is. */
import type { Desired } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import type { Spec } from "../api/cluster.ts";
import { annotations } from "../api/names.ts";
import { type ClusterName, selectorLabels } from "./names.ts";

export interface ClaimOptions {
  readonly cluster: ClusterName;
  readonly member: string;
  readonly storage: Spec["storage"];
  /** Known once etcd has answered. */
  readonly identity?: { readonly clusterId: string; readonly memberId: string };
  /** A claim that exists keeps its class, and never shrinks. */
  readonly existing?: { readonly size: string | number; readonly className: string | undefined };
}

export function claimFor(options: ClaimOptions): Desired<typeof PersistentVolumeClaim> {
  const { cluster, member, storage, identity, existing } = options;
  const className = existing ? existing.className : storage.className;
  return {
    metadata: {
      name: member,
      labels: selectorLabels(cluster),
      annotations: {
        [annotations.clusterUid]: cluster.uid,
        ...(identity && {
          [annotations.clusterId]: identity.clusterId,
          [annotations.memberId]: identity.memberId,
        }),
      },
    },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: existing?.size ?? storage.size } },
      ...(className === undefined ? {} : { storageClassName: className }),
    },
  };
}
