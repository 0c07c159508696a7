// Persistent volumes and claims.
import { pod, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { claim, note, noteScheduling } from "./_objects.mjs";

export default [
  scenario("PersistentVolume: a pod whose claim is missing", async (s) => {
    await s.create(
      pod("p", {
        pod: {
          volumes: [{ name: "v", persistentVolumeClaim: { claimName: "nosuch" } }],
          containers: [{ name: "m", image: "x" }],
        },
      }),
    );
    await s.settle();
    await s.shot("pending");
  }),
  scenario("PersistentVolume: a claim without a class", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    await s.settle();
    await s.shot("pending");
    await s.remove("PersistentVolumeClaim", "c");
    await s.settle();
    await s.shot("gone");
  }),
  scenario("PersistentVolume: reasons why pods wait for volumes", async (s) => {
    const mount = (claimName) => ({ volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] });
    const with_ = (claimName) => ({ pod: { ...pod("x").spec, ...mount(claimName) } });
    await s.create(claim("unbound", { storageClassName: "manual" }));
    await s.create(claim("classless", { storageClassName: "" }));
    await s.create(pod("a", with_("missing")));
    await s.create(pod("b", with_("unbound")));
    await s.create(pod("c", with_("classless")));
    await s.settle(3000);
    await noteScheduling(s, "why");
    await s.shot("pending");
    await s.remove("PersistentVolumeClaim", "unbound");
    await s.settle(3000);
    await s.shot("protected or not");
  }),
  scenario("PersistentVolume: bound, bound by the pod's node, released and retained", async (s) => {
    const pv = (name, spec) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `${s.ns}-${name}` },
      spec: {
        capacity: { storage: "2Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/nowhere" },
        persistentVolumeReclaimPolicy: "Retain",
        ...spec,
      },
    });
    const on = (node) => ({
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
          ],
        },
      },
    });
    const base = "/apis/storage.k8s.io/v1/storageclasses";
    const late = `${s.ns}-late`;
    await s.call("POST", base, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: late },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const volumes = ["now", "late"];
    try {
      await s.call("POST", "/api/v1/persistentvolumes", pv("now", { storageClassName: s.ns }));
      await s.call(
        "POST",
        "/api/v1/persistentvolumes",
        pv("late", { storageClassName: late, ...on("play-2") }),
      );
      await s.create(claim("now", { storageClassName: s.ns }));
      await s.create(claim("late", { storageClassName: late }));
      await s.settle(3000);
      const phases = async () => {
        const out = [];
        for (const name of volumes) {
          const { body } = await s.call("GET", `/api/v1/persistentvolumes/${s.ns}-${name}`);
          out.push([name, body.status?.phase, body.spec?.claimRef?.name, body.metadata?.finalizers]);
        }
        return out;
      };
      await note(s, "before", await phases());
      await s.shot("one bound");
      const mount = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "late" } }] };
      await s.create(pod("p", { pod: mount }));
      await s.settle(3000);
      await note(s, "bound", await phases());
      const [p] = await s.pods();
      await note(s, "node", p.spec.nodeName);
      await s.shot("both bound");
      await s.remove("Pod", "p");
      await s.settle();
      for (const name of volumes) await s.remove("PersistentVolumeClaim", name);
      await s.settle(3000);
      await note(s, "after", await phases());
      await s.shot("released");
    } finally {
      for (const name of volumes) await s.call("DELETE", `/api/v1/persistentvolumes/${s.ns}-${name}`);
      await s.call("DELETE", `${base}/${late}`);
    }
  }),
];
