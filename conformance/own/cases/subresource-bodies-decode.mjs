// Bodies of other kinds where a Scale, an Eviction, a Binding or a TokenRequest is expected.
import {
  apps,
  crd,
  deployment,
  dryRun,
  install,
  ns,
  objectSchema,
  pod,
  silent,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const scaleOf = (v, k = "Scale") => ({
  apiVersion: v,
  kind: k,
  metadata: { name: "d" },
  spec: { replicas: 3 },
});

export default [
  test("Scale update: bodies of other kinds and versions", (t) => {
    t.post(`${apps}/deployments`, deployment("d"), silent);
    for (const v of ["extensions/v1beta1", "apps/v1beta1", "apps/v1", "v1", "autoscaling/v2", "bogus/v1"])
      t.put(`${apps}/deployments/d/scale`, scaleOf(v));
    t.put(`${apps}/deployments/d/scale`, scaleOf("autoscaling/v1", "Other"))
      .put(`${apps}/deployments/d/scale`, { metadata: { name: "d" }, spec: { replicas: 2 } })
      .merge(`${apps}/deployments/d/scale`, { apiVersion: "extensions/v1beta1", spec: { replicas: 1 } })
      .merge(`${apps}/deployments/d/scale`, { kind: "Bogus" });
  }),
  test("Widget scale update: bodies of other kinds and versions", (t) => {
    install(
      t,
      crd(
        objectSchema({ spec: objectSchema({ n: { type: "integer" } }) }),
        {},
        { subresources: { scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } } },
      ),
    );
    t.post(widgets, widget("d", { spec: { n: 1 } }), silent);
    for (const v of ["extensions/v1beta1", "apps/v1beta1", "apps/v1", "v1", "autoscaling/v2", "bogus/v1"])
      t.put(`${widgets}/d/scale`, scaleOf(v));
    t.put(`${widgets}/d/scale`, scaleOf("autoscaling/v1", "Other"))
      .put(`${widgets}/d/scale`, { metadata: { name: "d" }, spec: { replicas: 2 } })
      .put(`${widgets}/d`, { ...widget("d"), kind: "Other" })
      .put(`${widgets}/none`, { ...widget("none"), kind: "Other" })
      .post(widgets, { ...widget("z"), kind: "Other" });
  }),
  test(
    "Eviction create: bodies of other kinds, also for Binding and TokenRequest",
    (t) => {
      t.post(`${ns}/pods`, pod("p"), silent);
      for (const b of [
        { apiVersion: "policy/v1", kind: "Other", metadata: { name: "p" } },
        { apiVersion: "v1", kind: "Eviction", metadata: { name: "p" } },
        { metadata: { name: "p" } },
      ])
        t.post(`${ns}/pods/p/eviction`, b, dryRun);
      for (const b of [
        { apiVersion: "v1", kind: "Other", metadata: { name: "p" }, target: { name: "n" } },
        { apiVersion: "v9", kind: "Binding", metadata: { name: "p" }, target: { name: "n" } },
      ])
        t.post(`${ns}/pods/p/binding`, b, dryRun);
      for (const b of [
        { apiVersion: "v1", kind: "TokenRequest", spec: {} },
        { apiVersion: "authentication.k8s.io/v1", kind: "Other", spec: {} },
        {},
      ])
        t.post(`${ns}/serviceaccounts/default/token`, b, { pick: (b) => (b.kind === "Status" ? b : b.kind) });
    },
    { account: true },
  ),
];
