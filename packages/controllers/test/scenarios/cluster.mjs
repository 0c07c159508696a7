// Service accounts, namespaces and nodes.
import { scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { configMap, note } from "./_objects.mjs";

export default [
  scenario("ServiceAccount: token secrets, and what is created again", async (s) => {
    const secret = (name, account) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, annotations: { "kubernetes.io/service-account.name": account } },
      type: "kubernetes.io/service-account-token",
    });
    await s.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } });
    await s.create(secret("token", "robot"));
    await s.create(secret("nobody", "ghost"));
    await s.remove("ServiceAccount", "default");
    await s.remove("ConfigMap", "kube-root-ca.crt");
    await s.settle(3000);
    const secrets = (await s.call("GET", s.pathOf("Secret", s.ns))).body.items;
    await note(
      s,
      "secrets",
      secrets.map((each) => [each.metadata.name, Object.keys(each.data ?? {}).sort(), each.metadata.labels]),
    );
    const accounts = (await s.call("GET", s.pathOf("ServiceAccount", s.ns))).body.items;
    await note(s, "accounts", accounts.map((each) => each.metadata.name).sort());
    const root = await s.call("GET", s.pathOf("ConfigMap", s.ns, "kube-root-ca.crt"));
    await note(s, "root", root.status);
    await s.shot("there");
    await s.remove("ServiceAccount", "robot");
    await s.settle(3000);
    const left = (await s.call("GET", s.pathOf("Secret", s.ns))).body.items;
    await note(s, "left", left.map((each) => each.metadata.name).sort());
    await s.shot("token gone");
  }),
  scenario("Namespace: conditions while an object with a finalizer remains", async (s) => {
    const name = `${s.ns}-held`;
    const path = `/api/v1/namespaces/${name}`;
    await s.call("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const held = configMap("held", [], { finalizers: ["example.com/hold"] });
    await s.call("POST", `${path}/configmaps`, held);
    await s.call("POST", `${path}/configmaps`, configMap("free"));
    await s.call("DELETE", path);
    let body = {};
    for (let i = 0; i < 20 && !body.status?.conditions; i++) {
      await s.sleep(1000);
      body = (await s.call("GET", path)).body;
    }
    const conditions = (body.status.conditions ?? [])
      .map((c) => [c.type, c.status, c.reason, c.message].join(" | "))
      .sort();
    await note(s, "conditions", [body.status.phase, ...conditions]);
    const late = await s.call("POST", `${path}/configmaps`, configMap("late"));
    await note(s, "late", [late.status, late.body.message]);
    await s.call(
      "PATCH",
      `${path}/configmaps/held`,
      { metadata: { finalizers: null } },
      "application/merge-patch+json",
    );
    await s.settle(6000);
    await note(s, "gone", (await s.call("GET", path)).status);
    await s.shot("told");
  }),
  scenario("Node: taints follow its conditions", async (s) => {
    const path = `/api/v1/nodes/${s.ns}`;
    const say = (conditions) =>
      s.call("PATCH", `${path}/status`, { status: { conditions } }, "application/strategic-merge-patch+json");
    const condition = (type, status) => ({
      type,
      status,
      reason: "Played",
      message: "played",
      lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
      lastTransitionTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
    });
    const taints = async () => {
      const { body } = await s.call("GET", path);
      return (body.spec.taints ?? []).map((t) => `${t.key}:${t.effect}`).sort();
    };
    await s.call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: s.ns } });
    try {
      await s.sleep(2000);
      const seen = [await taints()];
      await say([condition("Ready", "True")]);
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("MemoryPressure", "True"), condition("DiskPressure", "True")]);
      await s.call("PATCH", path, { spec: { unschedulable: true } }, "application/merge-patch+json");
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("MemoryPressure", "False"), condition("PIDPressure", "True")]);
      await s.call("PATCH", path, { spec: { unschedulable: false } }, "application/merge-patch+json");
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("Ready", "False")]);
      await s.sleep(6000);
      seen.push(await taints());
      await note(s, "taints", seen);
      await s.shot("taints");
    } finally {
      await s.call("DELETE", path);
    }
  }),
];
