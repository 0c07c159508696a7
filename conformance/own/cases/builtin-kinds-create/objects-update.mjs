// Changes of stateful sets, jobs, secrets and claims.
import { apps, batch, ns, silent, test } from "../_lib.mjs";
import { jobWith } from "./_builders.mjs";

export default [
  test("StatefulSet update: and Job, Secret, PersistentVolumeClaim", (t) => {
    t.post(
      `${apps}/statefulsets`,
      {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "s" },
        spec: {
          serviceName: "x",
          selector: { matchLabels: { a: "b" } },
          template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
          volumeClaimTemplates: [
            {
              metadata: { name: "d" },
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
            },
          ],
        },
      },
      silent,
    );
    for (const p of [
      { serviceName: "y" },
      { podManagementPolicy: "Parallel" },
      { volumeClaimTemplates: [] },
      { replicas: 3 },
      { updateStrategy: { type: "OnDelete" } },
      { selector: { matchLabels: { a: "c" } } },
      { template: { spec: { containers: [{ name: "c", image: "j" }] } } },
      { minReadySeconds: 5 },
      { ordinals: { start: 3 } },
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } },
      { revisionHistoryLimit: 3 },
    ])
      t.merge(`${apps}/statefulsets/s`, { spec: p });
    t.post(`${batch}/jobs`, jobWith({}), silent);
    for (const p of [
      { parallelism: 3 },
      { completions: 3 },
      { suspend: true },
      { backoffLimit: 1 },
      { template: { spec: { containers: [{ name: "c", image: "j" }] } } },
      { completionMode: "Indexed" },
      { activeDeadlineSeconds: 9 },
      { ttlSecondsAfterFinished: 5 },
    ])
      t.merge(
        `${batch}/jobs/j`,
        { spec: p },
        {
          pick: (b) =>
            b.kind === "Status"
              ? {
                  ...b,
                  message: 1,
                  details: { ...b.details, causes: b.details?.causes?.map((c) => ({ ...c, message: 1 })) },
                }
              : b.metadata.generation,
        },
      );
    t.post(
      `${ns}/secrets`,
      { apiVersion: "v1", kind: "Secret", metadata: { name: "x" }, type: "a/b", stringData: { q: "1" } },
      silent,
    );
    for (const p of [
      { type: "c/d" },
      { data: { q: null } },
      { stringData: { z: "9" } },
      { data: { z: "***" } },
      { immutable: true },
      { data: { q: "eA==" } },
      { immutable: false },
      { metadata: { labels: { a: "b" } } },
    ])
      t.merge(`${ns}/secrets/x`, p);
    t.post(
      `${ns}/persistentvolumeclaims`,
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "v" },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "s",
          resources: { requests: { storage: "2Gi" } },
        },
      },
      silent,
    );
    for (const p of [
      { resources: { requests: { storage: "3Gi" } } },
      { resources: { requests: { storage: "1Gi" } } },
      { storageClassName: "t" },
      { volumeName: "x" },
      { volumeMode: "Block" },
    ])
      t.merge(
        `${ns}/persistentvolumeclaims/v`,
        { spec: p },
        {
          pick: (b) =>
            b.kind === "Status"
              ? {
                  ...b,
                  message: 1,
                  details: { ...b.details, causes: b.details?.causes?.map((c) => ({ ...c, message: 1 })) },
                }
              : b,
        },
      );
  }),
];
