// Scale and status of other kinds.
import { apps, batch, deployment, ns, object, silent, test } from "../_lib.mjs";
import { template } from "./_builders.mjs";

export default [
  test("Scale update: ReplicaSet, StatefulSet and ReplicationController", (t) => {
    for (const [resource, kind] of [
      ["replicasets", "ReplicaSet"],
      ["statefulsets", "StatefulSet"],
    ]) {
      const path = `${apps}/${resource}/d`;
      t.post(`${apps}/${resource}`, { ...deployment("d", { replicas: 2 }), kind: kind }, silent)
        .get(`${path}/scale`)
        .put(`${path}/scale`, {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "d" },
          spec: { replicas: 3 },
        })
        .merge(`${path}/scale`, { spec: { replicas: -1 } })
        .merge(`${path}/scale`, { spec: { replicas: null } })
        .merge(`${path}/scale`, { spec: { replicas: "x" } })
        .merge(`${path}/scale`, { metadata: { resourceVersion: "1" }, spec: { replicas: 1 } })
        .apply(
          `${path}/scale`,
          { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "d" }, spec: { replicas: 6 } },
          "m",
        )
        .json(`${path}/scale`, [{ op: "replace", path: "/spec/replicas", value: 9 }])
        .strategic(`${path}/scale`, { spec: { replicas: 8 } })
        .get(path, { pick: (b) => [b.spec?.replicas, b.metadata?.generation, b.metadata?.managedFields] });
    }
    t.get(`${apps}/daemonsets/d/scale`)
      .get(`${apps}/deployments/none/scale`)
      .post(
        `${ns}/replicationcontrollers`,
        object("v1", "ReplicationController", {
          spec: { replicas: 1, selector: { a: "b" }, template: template },
        }),
        silent,
      )
      .get(`${ns}/replicationcontrollers/x/scale`)
      .merge(`${ns}/replicationcontrollers/x/scale`, { spec: { replicas: 4 } });
  }),
  test(
    "Status update: invalid values in the status of eight kinds",
    (t) => {
      const mergeStatuses = (path, object, ...statuses) => {
        t.post(path, object, silent);
        for (const status of statuses)
          t.merge(
            `${path}/${object.metadata.name}/status`,
            { status },
            {
              pick: (b) =>
                b.status && b.kind !== "Status"
                  ? [b.status, b.metadata.managedFields, b.metadata.generation]
                  : b,
            },
          );
      };
      mergeStatuses(
        `${apps}/deployments`,
        deployment("d"),
        { replicas: -1 },
        { replicas: 1, readyReplicas: 2, availableReplicas: 3 },
        { replicas: 2, updatedReplicas: 1, conditions: [{ type: "Available", status: "True" }] },
        { observedGeneration: -1, collisionCount: -1 },
        { collisionCount: 2 },
        { collisionCount: 1 },
      );
      mergeStatuses(
        `${apps}/statefulsets`,
        { ...deployment("s"), kind: "StatefulSet" },
        { replicas: 1, currentReplicas: 1, updateRevision: "r" },
        { replicas: 1, readyReplicas: 5 },
      );
      mergeStatuses(
        `${batch}/jobs`,
        {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "j" },
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "m", image: "i" }] } } },
        },
        { active: 1, startTime: "2024-01-01T00:00:00Z" },
        { active: -1 },
        { conditions: [{ type: "Complete", status: "True" }] },
        { completionTime: "2023-01-01T00:00:00Z" },
      );
      mergeStatuses(
        `${ns}/services`,
        object("v1", "Service", { spec: { type: "LoadBalancer", ports: [{ port: 1 }] } }),
        { loadBalancer: { ingress: [{ ip: "x" }] } },
        { loadBalancer: { ingress: [{ hostname: "a.b", ports: [{ port: 0, protocol: "X" }] }] } },
        { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } },
      );
      mergeStatuses(
        `${ns}/persistentvolumeclaims`,
        object("v1", "PersistentVolumeClaim", {
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        }),
        { phase: "Bound", capacity: { storage: "1Gi" } },
        { phase: "Bogus" },
        { capacity: { storage: "-1" } },
      );
    },
    {},
  ),
];
