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
}

export function claimFor(options: ClaimOptions): Desired<typeof PersistentVolumeClaim> {
  const { cluster, member, storage } = options;
  return {
    metadata: {
      name: member,
      labels: selectorLabels(cluster),
      annotations: {
        [annotations.clusterUid]: cluster.uid,
        [annotations.storageClass]: storage.className ?? "",
      },
    },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: storage.size } },
      ...(storage.className === undefined ? {} : { storageClassName: storage.className }),
    },
  };
}
