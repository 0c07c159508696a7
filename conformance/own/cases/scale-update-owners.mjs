// Who owns the replicas when scale is written, also with what is there already.
import { test, ns, apps, deployment } from "./_lib.mjs";
const D = `${apps}/deployments/d`;
const own = { pick: (b) => b.metadata?.managedFields?.map((m) => [m.manager, m.operation, m.subresource, Boolean(m.fieldsV1["f:spec"]?.["f:replicas"])]) };
const S = (r) => ({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "d", namespace: "$NS" }, spec: { replicas: r } });
const ap = (r) => ({ ...deployment("d"), spec: { ...deployment("d").spec, replicas: r } });
export default [
  test("merge same", (t) => t.post(`${apps}/deployments`, deployment("d"), { silent: true }).merge(`${D}/scale`, { spec: { replicas: 1 } }, { query: { fieldManager: "s" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 2 } }, { query: { fieldManager: "s" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 2 } }, { query: { fieldManager: "s" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 2 } }, { query: { fieldManager: "z" } }).get(D, own)),
  test("put same", (t) => t.post(`${apps}/deployments`, deployment("d"), { silent: true }).put(`${D}/scale`, S(1), { query: { fieldManager: "s" } }).get(D, own).put(`${D}/scale`, S(3), { query: { fieldManager: "s" } }).get(D, own).put(`${D}/scale`, S(3), { query: { fieldManager: "s" } }).get(D, own)),
  test("applied then same", (t) => t.apply(D, ap(2), "a").merge(`${D}/scale`, { spec: { replicas: 2 } }, { query: { fieldManager: "s" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 3 } }, { query: { fieldManager: "s" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 3 } }, { query: { fieldManager: "s" } }).get(D, own)),
  test("apply scale same", (t) => t.post(`${apps}/deployments`, deployment("d"), { silent: true }).apply(`${D}/scale`, S(1), "s").get(D, own).apply(`${D}/scale`, S(1), "s").get(D, own)),
  test("two updaters", (t) => t.post(`${apps}/deployments`, deployment("d"), { silent: true }).merge(D, { spec: { replicas: 4 } }, { query: { fieldManager: "u" } }).get(D, own).merge(`${D}/scale`, { spec: { replicas: 4 } }, { query: { fieldManager: "s" } }).get(D, own)),
];
