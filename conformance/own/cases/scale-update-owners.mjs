// Who owns the replicas when scale is written, also with the value that is there already.
import { apps, deployment, fieldManager, silent, test } from "./_lib.mjs";

const deploymentPath = `${apps}/deployments/d`;

const replicaOwners = {
  pick: (b) =>
    b.metadata?.managedFields?.map((m) => [
      m.manager,
      m.operation,
      m.subresource,
      Boolean(m.fieldsV1["f:spec"]?.["f:replicas"]),
    ]),
};

const scaleTo = (r) => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "d", namespace: "$NS" },
  spec: { replicas: r },
});

const deploymentWith = (r) => ({ ...deployment("d"), spec: { ...deployment("d").spec, replicas: r } });

export default [
  test("Scale merge patch: the same replicas change no owner", (t) =>
    t
      .post(`${apps}/deployments`, deployment("d"), silent)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 1 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 2 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 2 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 2 } }, fieldManager("z"))
      .get(deploymentPath, replicaOwners)),
  test("Scale update: the same replicas change no owner", (t) =>
    t
      .post(`${apps}/deployments`, deployment("d"), silent)
      .put(`${deploymentPath}/scale`, scaleTo(1), fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .put(`${deploymentPath}/scale`, scaleTo(3), fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .put(`${deploymentPath}/scale`, scaleTo(3), fieldManager("s"))
      .get(deploymentPath, replicaOwners)),
  test("Scale merge patch: replicas that were applied before", (t) =>
    t
      .apply(deploymentPath, deploymentWith(2), "a")
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 2 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 3 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 3 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)),
  test("Scale apply: the same replicas", (t) =>
    t
      .post(`${apps}/deployments`, deployment("d"), silent)
      .apply(`${deploymentPath}/scale`, scaleTo(1), "s")
      .get(deploymentPath, replicaOwners)
      .apply(`${deploymentPath}/scale`, scaleTo(1), "s")
      .get(deploymentPath, replicaOwners)),
  test("Scale merge patch: replicas that another manager updated", (t) =>
    t
      .post(`${apps}/deployments`, deployment("d"), silent)
      .merge(deploymentPath, { spec: { replicas: 4 } }, fieldManager("u"))
      .get(deploymentPath, replicaOwners)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 4 } }, fieldManager("s"))
      .get(deploymentPath, replicaOwners)),
];
