/** Instances of a graph: made in order, kept, repaired, taken away in the reverse order. */
import { ConfigMap, Deployment, Service } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { expect, test } from "vitest";
import { condition, graphCluster, install, kindOf, statusOf } from "./graphs.ts";

const webApp = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: web-app
spec:
  schema:
    apiVersion: v1alpha1
    kind: WebApp
    spec:
      image: string | default="nginx"
      replicas: integer | default=2 minimum=0
      expose: boolean | default=true
      settings: "map[string]string"
    status:
      ready: \${deployment.status.readyReplicas}
      address: \${service.spec.clusterIP}
  resources:
  - id: service
    includeWhen:
    - \${schema.spec.expose}
    template:
      apiVersion: v1
      kind: Service
      metadata:
        name: \${schema.metadata.name}
      spec:
        selector: \${deployment.spec.selector.matchLabels}
        ports:
        - port: 80
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: \${schema.metadata.name}-config
      data: \${schema.spec.?settings.orValue({})}
  - id: deployment
    readyWhen:
    - \${deployment.status.readyReplicas == deployment.spec.replicas}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: \${schema.metadata.name}
        annotations:
          config: "config-\${config.metadata.name}"
      spec:
        replicas: \${schema.spec.replicas}
        selector:
          matchLabels:
            app: \${schema.metadata.name}
        template:
          metadata:
            labels:
              app: \${schema.metadata.name}
          spec:
            containers:
            - name: web
              image: \${schema.spec.image}
`;
/** The same where nobody runs pods. */
const still = webApp.replace(
  "deployment.status.readyReplicas == deployment.spec.replicas",
  "deployment.spec.replicas > 0",
);
const WebApp = kindOf("WebApp", "webapps");
const ref = { namespace: "default", name: "shop" };

test("a definition becomes a kind, and an instance becomes its resources, in order", async () => {
  await using c = await graphCluster(webApp, { workloads: true });
  await install(c, webApp);
  const status = await statusOf(c, "web-app");
  expect(status).toMatchObject({
    state: "Active",
    topologicalOrder: ["config", "deployment", "service"],
    resources: [
      { id: "deployment", dependencies: [{ id: "config" }] },
      { id: "service", dependencies: [{ id: "deployment" }] },
    ],
  });
  expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
    "GraphRevisionsResolved=True",
    "GraphAccepted=True",
    "KindReady=True",
    "ControllerReady=True",
    "Ready=True",
  ]);
  await c.client.kind(WebApp).create({ metadata: ref, spec: { settings: { color: "green" } } });
  await c.converges({ ready: false });
  const instance = await c.client.kind(WebApp).get(ref);
  expect(instance.status).toMatchObject({ state: "ACTIVE", ready: 2 });
  expect(instance.status?.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
    "InstanceManaged=True",
    "GraphResolved=True",
    "ResourcesReady=True",
    "Ready=True",
  ]);
  const deployment = await c.client.kind(Deployment).get(ref);
  expect(deployment.metadata.annotations?.["config"]).toBe("config-shop-config");
  expect(deployment.spec?.replicas).toBe(2);
  expect((await c.client.kind(ConfigMap).get({ ...ref, name: "shop-config" })).data).toEqual({
    color: "green",
  });
  expect((await c.client.kind(Service).get(ref)).spec?.selector).toEqual({ app: "shop" });
  expect(instance.status?.["address"]).toBe((await c.client.kind(Service).get(ref)).spec?.clusterIP);
  expect(c.forbidden).toEqual([]);
});

test("drift is repaired, a change is followed, and what is not included any more goes", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  await c.client.kind(WebApp).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await c.client.kind(Deployment).patch(ref, { type: "merge", body: { spec: { replicas: 9 } } });
  await c.client.kind(ConfigMap).delete({ ...ref, name: "shop-config" });
  await c.converges({ ready: false });
  expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(2);
  expect(await c.client.kind(ConfigMap).find({ ...ref, name: "shop-config" })).toBeDefined();
  await c.client.kind(WebApp).patch(ref, { type: "merge", body: { spec: { replicas: 3, expose: false } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(3);
  expect(await c.client.kind(Service).find(ref)).toBeUndefined();
  expect((await c.client.kind(WebApp).get(ref)).status).toMatchObject({ state: "ACTIVE" });
});

test("resources of a deleted instance go in the reverse order", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  await c.client.kind(WebApp).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  // A finalizer of someone else's holds the Service, and everything behind it.
  await c.client
    .kind(Service)
    .patch(ref, { type: "merge", body: { metadata: { finalizers: ["test.example.com/hold"] } } });
  await c.client.kind(WebApp).delete(ref);
  await c.advance(60_000);
  expect((await c.client.kind(Deployment).get(ref)).metadata.deletionTimestamp).toBeUndefined();
  const { status } = await c.client.kind(WebApp).get(ref);
  expect(status?.state).toBe("DELETING");
  expect(condition(status, "ResourcesReady")).toMatchObject({ status: "Unknown", reason: "UnderDeletion" });
  await c.client.kind(Service).patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
  await c.until(async () => (await c.client.kind(WebApp).find(ref)) === undefined);
  expect(await c.client.kind(Deployment).find(ref)).toBeUndefined();
  expect(await c.client.kind(ConfigMap).find({ ...ref, name: "shop-config" })).toBeUndefined();
});

test("a definition that goes leaves its kind and its instances, and one that comes again takes them over", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  await c.client.kind(WebApp).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await c.client.kind(ResourceGraphDefinition).delete({ name: "web-app" });
  await c.converges({ ready: false });
  expect(await c.client.kind(ResourceGraphDefinition).find({ name: "web-app" })).toBeUndefined();
  await c.client.kind(Deployment).delete(ref);
  await c.advance(60_000);
  expect(await c.client.kind(Deployment).find(ref)).toBeUndefined();
  await install(c, still);
  expect((await c.client.kind(WebApp).get(ref)).status?.state).toBe("ACTIVE");
  expect(await c.client.kind(Deployment).find(ref)).toBeDefined();
});

test("an object that belongs to nobody is taken over, and one of another instance is not", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  const config = { ...ref, name: "shop-config" };
  await c.client.kind(ConfigMap).create({ metadata: config, data: { old: "yes" } });
  await c.client.kind(WebApp).create({ metadata: ref, spec: { settings: { new: "yes" } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(config)).data).toEqual({ old: "yes", new: "yes" });
  await c.client.kind(ConfigMap).patch(config, {
    type: "merge",
    body: {
      metadata: {
        labels: { "applyset.kubernetes.io/part-of": "applyset-another-v1", "keelson.dev/controller": null },
      },
    },
  });
  await c.advance(120_000);
  const { status } = await c.client.kind(WebApp).get(ref);
  expect(status?.state).toBe("ERROR");
  expect(condition(status, "Ready")?.message).toContain("cannot apply ConfigMap default/shop-config");
});

test("a suspended instance is left as it is", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  await c.client.kind(WebApp).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  const suspend = (value: string | null) =>
    c.client
      .kind(WebApp)
      .patch(ref, { type: "merge", body: { metadata: { annotations: { "kro.run/reconcile": value } } } });
  await suspend("suspended");
  await c.client.kind(Deployment).delete(ref);
  await c.converges({ ready: false });
  expect(await c.client.kind(Deployment).find(ref)).toBeUndefined();
  expect(condition((await c.client.kind(WebApp).get(ref)).status, "ResourcesReady")?.reason).toBe(
    "ReconciliationSuspended",
  );
  await suspend(null);
  await c.converges({ ready: false });
  expect(await c.client.kind(Deployment).find(ref)).toBeDefined();
});

test("the role of a graph holds what is used and nothing else", async () => {
  await using c = await graphCluster(still);
  await install(c, still);
  await c.client.kind(WebApp).create({ metadata: ref, spec: { expose: true } });
  await c.converges({ ready: false });
  await c.client.kind(WebApp).delete(ref);
  await c.converges({ ready: false });
  // Caches begin with a watch that lists by itself, where the server has that; an object is read only when in doubt.
  const unused = c.unusedPermissions.filter((each) => !/^(list|get) /.test(each));
  expect(unused.filter((each) => /webapps|deployments|services|configmaps/.test(each))).toEqual([]);
  expect(c.forbidden).toEqual([]);
});
