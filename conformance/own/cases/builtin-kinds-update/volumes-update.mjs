// Changes of persistent volumes and claims.
import { ns, object } from "../_lib.mjs";
import { merges, spec } from "./_builders.mjs";

export default [
  merges(
    "PersistentVolumeClaim update: size, class and mode",
    `${ns}/persistentvolumeclaims`,
    object("v1", "PersistentVolumeClaim", {
      spec: {
        storageClassName: "",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "2Gi" } },
      },
    }),
    [
      spec({ resources: { requests: { storage: "3Gi" } } }),
      spec({ resources: { requests: { storage: "1Gi" } } }),
      spec({ volumeName: "v" }),
      spec({ storageClassName: "other" }),
      spec({ volumeMode: "Block" }),
      spec({ volumeAttributesClassName: "vac" }),
      { metadata: { labels: { a: "b" } } },
    ],
  ),
  merges(
    "PersistentVolume update: capacity, source, claim and affinity",
    "/api/v1/persistentvolumes",
    object(
      "v1",
      "PersistentVolume",
      { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } } },
      { name: "pv-$ID" },
    ),
    [
      spec({ capacity: { storage: "2Gi" } }),
      spec({ hostPath: { path: "/y" } }),
      spec({ persistentVolumeReclaimPolicy: "Delete" }),
      spec({ accessModes: ["ReadWriteMany"] }),
      spec({ claimRef: { namespace: "a", name: "b" } }),
      spec({ volumeMode: "Block" }),
      spec({
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] },
        },
      }),
      spec({ storageClassName: "x" }),
    ],
  ),
];
