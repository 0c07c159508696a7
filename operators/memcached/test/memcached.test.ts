/** The Memcached operator, unchanged and with no more than its own role, on every control plane of this machine. */
import type { Client } from "@keelson/client";
import { until } from "@keelson/testing";
import {
  type AnyKind,
  type Condition,
  install,
  type ObjectOf,
  operator,
  roleFor,
  silentLogger,
} from "keelson";
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Namespace,
  Pod,
  ReplicaSet,
  Service,
} from "keelson/kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Memcached, memcached } from "../src/index.ts";
import { type ControlPlane, controlPlanes } from "./control-planes.ts";

describe.each(controlPlanes)("a Memcached on $name", { timeout: 120_000 }, ({ missing, start }) => {
  const namespace = "caches";
  const here = { namespace, name: "sessions" };
  const stack = new AsyncDisposableStack();
  let plane: ControlPlane;
  let client: Client;
  let running: Awaited<ReturnType<ReturnType<typeof operator>["start"]>>;

  beforeAll(async () => {
    if (missing) return;
    plane = stack.use(await start());
    client = plane.client;
    await client.kind(Namespace).create({ metadata: { name: namespace } });
    await install(client, [Memcached]);
    const user = "memcached-operator";
    const metadata = { name: user };
    await client.kind(ClusterRole).create({ metadata, rules: roleFor([memcached]) });
    await client.kind(ClusterRoleBinding).create({
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    });
    running = await operator({
      controllers: [memcached],
      client: plane.as(user),
      log: silentLogger,
    }).start();
    stack.use(running);
  });
  afterAll(() => stack.disposeAsync());

  test("becomes a Deployment and a Service, and is ready when its servers are", async ({ skip }) => {
    if (missing) skip(missing);
    await client.kind(Memcached).create(Memcached.object({ metadata: here, spec: { size: 2 } }));
    const ready = await until(client, Memcached, here, isReady(1));
    expect(ready?.spec).toEqual({ size: 2, image: "memcached:1.6", memory: "64Mi" });
    expect(ready?.status).toMatchObject({ readyReplicas: 2, selector: "app=memcached,instance=sessions" });
    expect(ready?.status?.inventory?.map(({ slot, kind, name }) => `${slot} ${kind}/${name}`)).toEqual([
      "deployment Deployment/sessions",
      "service Service/sessions",
    ]);
    const deployment = await client.kind(Deployment).get(here);
    expect(deployment.spec?.template.spec?.containers[0]?.args).toEqual([
      "memcached",
      "--port=11211",
      "--memory-limit=51",
    ]);
    expect((await client.kind(Service).get(here)).spec?.ports).toMatchObject([{ port: 11211 }]);
    expect(await pods()).toHaveLength(2);
  });

  test("names its pods in its status, and no pod of another", async ({ skip }) => {
    if (missing) skip(missing);
    const metadata = { namespace, name: "other" };
    await client.kind(Memcached).create(Memcached.object({ metadata, spec: { size: 1 } }));
    await until(client, Memcached, metadata, (object) => object?.status?.nodes?.length === 1);
    const named = (object: Object | undefined) => object?.status?.nodes?.length === 2;
    const { status } = (await until(client, Memcached, here, named)) as Object;
    const own = (await pods()).filter(({ metadata: { labels } }) => labels?.["instance"] === here.name);
    expect(status?.nodes).toEqual(own.map(({ metadata: { name } }) => name).sort());
    await client.kind(Memcached).delete(metadata, { propagation: "Foreground" });
    await until(client, Memcached, metadata, (object) => object === undefined);
  });

  test("scales by its spec and by its scale subresource", async ({ skip }) => {
    if (missing) skip(missing);
    await client.kind(Memcached).patch(here, { type: "merge", body: { spec: { size: 4 } } });
    await until(
      client,
      Memcached,
      here,
      (object) => isReady(2)(object) && object?.status?.readyReplicas === 4,
    );
    expect(await pods()).toHaveLength(4);
    const scale = await client.kind(Memcached).subresource("scale").get(here);
    expect(scale).toMatchObject({
      spec: { replicas: 4 },
      status: { replicas: 4, selector: "app=memcached,instance=sessions" },
    });
    await client
      .kind(Memcached)
      .subresource("scale")
      .patch(here, { type: "merge", body: { spec: { replicas: 1 } } });
    await until(
      client,
      Memcached,
      here,
      (object) => isReady(3)(object) && object?.status?.readyReplicas === 1,
    );
  });

  test("says that it waits while a new image rolls out", async ({ skip }) => {
    if (missing) skip(missing);
    const seen = new Set<string>();
    await client
      .kind(Memcached)
      .patch(here, { type: "merge", body: { spec: { image: "memcached:1.6.40" } } });
    await until(client, Memcached, here, (object) => {
      const condition = conditionOf(object, "Ready");
      if (condition?.observedGeneration === 4) seen.add(`${condition.status} ${condition.reason}`);
      return isReady(4)(object);
    });
    expect([...seen]).toEqual(["False ChildrenNotReady", "True Ready"]);
    const images = (await pods()).map(({ spec }) => spec?.containers[0]?.image);
    expect(images).toEqual(["memcached:1.6.40"]);
  });

  test("puts back what others change or delete, and leaves alone what is theirs", async ({ skip }) => {
    if (missing) skip(missing);
    await client.kind(Deployment).patch(here, {
      type: "merge",
      body: { metadata: { annotations: { team: "blue" } }, spec: { replicas: 5, minReadySeconds: 1 } },
    });
    const repaired = await until(client, Deployment, here, (object) => object?.spec?.replicas === 1);
    expect(repaired?.metadata.annotations?.["team"]).toBe("blue");
    expect(repaired?.spec?.minReadySeconds).toBe(1);
    const { uid } = (await client.kind(Service).get(here)).metadata;
    await client.kind(Service).delete(here);
    await until(client, Service, here, (object) => object !== undefined && object.metadata.uid !== uid);
    await client.kind(Deployment).delete(here);
    const { uid: old } = repaired?.metadata ?? {};
    await until(
      client,
      Deployment,
      here,
      (object) => object?.status?.readyReplicas === 1 && object.metadata.uid !== old,
    );
  });

  test("refuses what its schema forbids, in the server's words", async ({ skip }) => {
    if (missing) skip(missing);
    const odd = (spec: { size?: number; memory?: string }) =>
      client
        .kind(Memcached)
        .create(Memcached.object({ metadata: { namespace, name: "odd" }, spec }))
        .catch((error: Error) => error.message);
    expect(await odd({ size: 0 })).toBe(
      'cannot create Memcached caches/odd: Memcached.cache.keelson.dev "odd" is invalid: spec.size: Invalid value: 0: ' +
        "spec.size in body should be greater than or equal to 1 (Invalid)",
    );
    expect(await odd({ memory: "much" })).toContain("spec.memory in body should match");
  });

  test("takes everything along when it is deleted", async ({ skip }) => {
    if (missing) skip(missing);
    await client.kind(Memcached).delete(here, { propagation: "Background" });
    // The real garbage collector looks for new kinds every 30 s, and follows their deletions only from then on.
    await expect.poll(left, { timeout: 90_000 }).toEqual([]);
    expect(running.ready()).toBeUndefined();
  });

  /** What there is of it and of all that it led to. */
  async function left() {
    const kinds = [Memcached, Deployment, ReplicaSet, Pod, Service];
    const lists = await Promise.all(kinds.map((kind) => client.kind<AnyKind>(kind).list({ namespace })));
    return lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  }

  async function pods() {
    const { items } = await client.kind(Pod).list({ namespace, labels: "app=memcached" });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }
});

type Object = ObjectOf<typeof Memcached>;

function conditionOf(object: Object | undefined, type: string): Condition | undefined {
  return object?.status?.conditions?.find((each) => each.type === type);
}

/** Ready, and for this generation. */
function isReady(generation: number): (object: Object | undefined) => boolean {
  return (object) => {
    const condition = conditionOf(object, "Ready");
    return condition?.status === "True" && condition.observedGeneration === generation;
  };
}
