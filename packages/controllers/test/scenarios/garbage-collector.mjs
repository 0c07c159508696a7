// Garbage collection: owners, foreground and orphans.
import { pod, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { configMap } from "./_objects.mjs";

const ownerRef = (o, extra = {}) => ({
  apiVersion: o.apiVersion ?? "v1",
  kind: o.kind ?? "ConfigMap",
  name: o.metadata.name,
  uid: o.metadata.uid,
  ...extra,
});

export default [
  scenario("GarbageCollector: a chain deleted in the foreground", async (s) => {
    const a = await s.create(configMap("a"));
    const b = await s.create(configMap("b", [ownerRef(a, { blockOwnerDeletion: true })]));
    await s.create(configMap("c", [ownerRef(b, { blockOwnerDeletion: true })]));
    await s.create(configMap("d", [ownerRef(a)]));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("GarbageCollector: owners in a circle", async (s) => {
    const a = await s.create(configMap("a"));
    const b = await s.create(configMap("b", [ownerRef(a, { blockOwnerDeletion: true })]));
    await s.patch("ConfigMap", "a", {
      metadata: {
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "b", uid: b.metadata.uid, blockOwnerDeletion: true },
        ],
      },
    });
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(4000);
    await s.shot("gone");
  }),
  scenario("GarbageCollector: one owner deleted in the foreground, the other stays", async (s) => {
    const a = await s.create(configMap("a")),
      b = await s.create(configMap("b"));
    await s.create({
      ...configMap("c"),
      metadata: {
        name: "c",
        ownerReferences: [a, b].map((o) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          name: o.metadata.name,
          uid: o.metadata.uid,
          blockOwnerDeletion: true,
        })),
      },
    });
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("c stays");
  }),
  scenario("GarbageCollector: an owner with another uid", async (s) => {
    await s.create(configMap("a"));
    await s.create({
      ...configMap("b"),
      metadata: {
        name: "b",
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "22222222-1111-1111-1111-111111111111" },
        ],
      },
    });
    await s.settle(3000);
    await s.shot("collected");
  }),
  scenario("GarbageCollector: an owner of an unknown kind", async (s) => {
    await s.create({
      ...configMap("b"),
      metadata: {
        name: "b",
        ownerReferences: [
          {
            apiVersion: "nosuch.example.com/v1",
            kind: "Thing",
            name: "x",
            uid: "22222222-1111-1111-1111-111111111111",
          },
        ],
      },
    });
    await s.settle(3000);
    await s.shot("kept");
  }),
  scenario("GarbageCollector: a child with a finalizer in the foreground", async (s) => {
    const a = await s.create(configMap("a"));
    await s.create(
      configMap("b", [ownerRef(a, { blockOwnerDeletion: true })], { finalizers: ["example.com/hold"] }),
    );
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("held");
    await s.patch("ConfigMap", "b", { metadata: { finalizers: null } });
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("GarbageCollector: a chain deleted with orphans in the middle", async (s) => {
    const a = await s.create(configMap("a"));
    const b = await s.create(configMap("b", [ownerRef(a)]));
    await s.create(configMap("c", [ownerRef(b)]));
    await s.remove("ConfigMap", "b", { propagationPolicy: "Orphan" });
    await s.settle(3000);
    await s.shot("c alone");
    await s.remove("ConfigMap", "a");
    await s.settle(3000);
    await s.shot("c stays");
  }),
  scenario("GarbageCollector: a pod owned by a ConfigMap", async (s) => {
    const a = await s.create(configMap("a"));
    await s.create({
      ...pod("p"),
      metadata: {
        name: "p",
        labels: { app: "p" },
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: a.metadata.uid }],
      },
    });
    await s.settle();
    await s.remove("ConfigMap", "a");
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("GarbageCollector: owners with another name, kind and namespace", async (s) => {
    const a = await s.create(configMap("a"));
    await s.create(configMap("name", [{ ...ownerRef(a), name: "other" }]));
    await s.create(configMap("kind", [{ ...ownerRef(a), kind: "Secret" }]));
    const system = (await s.call("GET", "/api/v1/namespaces/kube-system")).body;
    await s.create(configMap("cluster", [ownerRef(system, { kind: "Namespace" })]));
    const other = (await s.call("GET", "/api/v1/namespaces/kube-system/serviceaccounts/default")).body;
    await s.create(configMap("elsewhere", [ownerRef(other, { kind: "ServiceAccount" })]));
    await s.settle(4000);
    await s.shot("what is left");
  }),
  scenario("GarbageCollector: foreground deletion waits only for children that block", async (s) => {
    const a = await s.create(configMap("a"));
    await s.create(
      configMap("b", [ownerRef(a, { blockOwnerDeletion: false })], { finalizers: ["example.com/hold"] }),
    );
    await s.create(configMap("c", [ownerRef(a)]));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("b held, a gone");
    await s.patch("ConfigMap", "b", { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("GarbageCollector: an owner with a finalizer keeps its children", async (s) => {
    const a = await s.create(configMap("a", [], { finalizers: ["example.com/hold"] }));
    await s.create(configMap("b", [ownerRef(a)]));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Background" });
    await s.settle(3000);
    await s.shot("both");
    await s.create(configMap("late", [ownerRef(a)]));
    await s.settle();
    await s.patch("ConfigMap", "a", { metadata: { finalizers: null } });
    await s.settle(3000);
    await s.shot("none");
  }),
  scenario("GarbageCollector: a child is created after its owner was deleted", async (s) => {
    const a = await s.create(configMap("a"));
    await s.remove("ConfigMap", "a");
    await s.create(configMap("b", [ownerRef(a)]));
    await s.create(configMap("c", [ownerRef(a, { controller: true })], { finalizers: ["example.com/hold"] }));
    await s.settle(3000);
    await s.shot("c is held");
    await s.patch("ConfigMap", "c", { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("none");
  }),
];
