// Invalid persistent volumes and claims.
import { ns, object } from "../_lib.mjs";
import { createEach } from "./_builders.mjs";

const claimWith = (spec) =>
  object("v1", "PersistentVolumeClaim", {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  });

const volumeWith = (spec) =>
  object(
    "v1",
    "PersistentVolume",
    {
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/x" },
        ...spec,
      },
    },
    { name: "x-$ID" },
  );

export default [
  createEach(
    "PersistentVolumeClaim create: invalid modes, sizes and sources",
    `${ns}/persistentvolumeclaims`,
    [
      claimWith({ accessModes: ["Bogus"] }),
      claimWith({ accessModes: ["ReadWriteOncePod", "ReadWriteMany"] }),
      claimWith({ resources: { requests: { storage: "-1" } } }),
      claimWith({ resources: { requests: { cpu: "1" } } }),
      claimWith({ volumeMode: "Bogus" }),
      claimWith({ storageClassName: "Bad Name" }),
      claimWith({ selector: { matchLabels: { "bad key!": "x" } } }),
      claimWith({ dataSource: { kind: "", name: "" } }),
      claimWith({ dataSource: { kind: "Bogus", name: "x" } }),
      claimWith({ dataSource: { kind: "PersistentVolumeClaim", name: "x" } }),
      claimWith({ dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "x" } }),
      claimWith({ dataSourceRef: { apiGroup: "a.b", kind: "X", name: "x" } }),
      claimWith({
        dataSource: { kind: "PersistentVolumeClaim", name: "x" },
        dataSourceRef: { kind: "PersistentVolumeClaim", name: "y" },
      }),
      claimWith({ volumeAttributesClassName: "" }),
      claimWith({ volumeName: "x", resources: { requests: { storage: "0" } } }),
      claimWith({ resources: { requests: { storage: "1.5Gi" }, limits: { storage: "1Gi" } } }),
    ],
  ),
  createEach("PersistentVolume create: invalid capacity, sources and affinity", "/api/v1/persistentvolumes", [
    volumeWith({ capacity: {} }),
    volumeWith({ capacity: { storage: "-1" } }),
    volumeWith({ capacity: { storage: "1", cpu: "1" } }),
    volumeWith({ accessModes: [] }),
    volumeWith({ accessModes: ["Bogus"] }),
    volumeWith({ hostPath: undefined }),
    volumeWith({ nfs: { server: "a", path: "/b" } }),
    volumeWith({ hostPath: { path: "/../x" } }),
    volumeWith({ persistentVolumeReclaimPolicy: "Bogus" }),
    volumeWith({ hostPath: { path: "/" }, persistentVolumeReclaimPolicy: "Recycle" }),
    volumeWith({ storageClassName: "Bad Name", volumeMode: "Bogus" }),
    volumeWith({ hostPath: undefined, local: { path: "/a" } }),
    volumeWith({ nodeAffinity: { required: {} } }),
    volumeWith({ nodeAffinity: {} }),
    volumeWith({ hostPath: undefined, csi: { driver: "", volumeHandle: "" } }),
    volumeWith({ mountOptions: ["ro"], claimRef: { name: "x" } }),
    volumeWith({ accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] }),
  ]),
];
