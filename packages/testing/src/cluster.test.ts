import { ConfigMap, Deployment, Node, PersistentVolumeClaim, Pod, Service } from "@keelson/core/kinds";
import { controller } from "@keelson/runtime";
import { describe, expect, test } from "vitest";
import { cluster } from "./cluster.ts";
import { conflict, serverError } from "./faults.ts";
import { change, create, Memcached, memcached } from "./memcached.fixture.ts";

const ref = { namespace: "default", name: "a" };

describe("a cluster for a test", () => {
  test("runs controllers until everything is at rest, and then nothing is written any more", async () => {
    await using c = await cluster({ controllers: [memcached], seed: 7 });
    await create(c.client, "a", { size: 2, extra: ["x", "y"] });
    await c.converges({ writesWhenIdle: 0, resyncs: 10 });
    expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(2);
    expect((await c.client.kind(Memcached).get(ref)).status?.configs).toBe(2);
  });

  test("tells the same story twice for the same seed, and another for another", async () => {
    const story = async (seed: number) => {
      await using c = await cluster({ controllers: [memcached], seed, workloads: true, managers: 2 });
      c.faults.swarm({
        random: c.random.fork("swarm"),
        chance: 0.2,
        faults: [conflict(), serverError(), { type: "lose-answer" }],
        until: () => c.clock.monotonic() > 60_000,
      });
      c.crashAt(5, "after");
      await create(c.client, "a", { extra: ["x", "y"] });
      await c.converges();
      return c.requests.map(({ manager, method, path, atMs, body }) =>
        [atMs, manager, method, path, body].join(" "),
      );
    };
    const once = await story(3);
    expect(await story(3)).toEqual(once);
    expect(await story(4)).not.toEqual(once);
  });

  test("tells what the role gives and nobody used", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c.client, "a", { extra: ["x"] });
    await c.converges();
    const unused = c.unusedPermissions.filter((each) => /configmaps|deployments|services/.test(each));
    // A watch streams the first state: lists are for servers that cannot. An object is read when one has its name already.
    expect(unused).toEqual([
      "delete configmaps.",
      "delete deployments.apps",
      "delete services.",
      "get configmaps.",
      "get deployments.apps",
      "get services.",
      "list configmaps.",
      "list deployments.apps",
      "list services.",
    ]);
    await change(c.client, "a", { extra: [] });
    await c.converges();
    expect(c.unusedPermissions).not.toContain("delete configmaps.");
  });

  test("drift is repaired", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c.client, "a");
    await c.converges();
    await c.client.kind(Deployment).patch(ref, { type: "merge", body: { spec: { replicas: 9 } } });
    await c.converges();
    expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(3);
    await c.client.kind(Service).delete(ref);
    await c.converges();
    expect(await c.client.kind(Service).find(ref)).toBeDefined();
  });

  test("what a composition leaves out is pruned", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c.client, "a", { extra: ["x", "y"] });
    await c.converges();
    await change(c.client, "a", { extra: ["y"] });
    await c.converges();
    const { items } = await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a-y"]);
  });
});

describe("a cluster with workloads", () => {
  test("runs pods: a Deployment becomes available, scales, and goes with its owner", async () => {
    await using c = await cluster({ controllers: [memcached], workloads: true });
    await create(c.client, "a", { size: 2 });
    await c.converges();
    const deployment = await c.client.kind(Deployment).get(ref);
    expect(deployment.status).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 2 });
    await change(c.client, "a", { size: 4 });
    await c.converges();
    expect((await c.client.kind(Pod).list({ namespace: "default" })).items).toHaveLength(4);
    await c.client.kind(Memcached).delete(ref);
    await c.until(async () => (await c.client.kind(Pod).list({ namespace: "default" })).items.length === 0);
    expect(await c.client.kind(Deployment).find(ref)).toBeUndefined();
  });

  test("the node stays alive for as long as time passes", async () => {
    await using c = await cluster({ workloads: true });
    await c.advance(3_600_000);
    const node = await c.client.kind(Node).get({ name: "node-1" });
    expect(node.spec?.taints ?? []).toEqual([]);
    await c.client.kind(Pod).create({
      metadata: { namespace: "default", name: "late" },
      spec: { containers: [{ name: "main", image: "main" }] },
    });
    await c.until(async () => {
      const late = await c.client.kind(Pod).get({ namespace: "default", name: "late" });
      return late.status?.phase === "Running";
    });
  });

  test("says when a pod never becomes ready", async () => {
    const shy = controller(Memcached, {
      name: "shy",
      owns: { deployment: Deployment },
      compose: (object) => {
        const labels = { app: object.metadata.name };
        return {
          children: {
            deployment: {
              spec: {
                selector: { matchLabels: labels },
                template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "main" }] } },
              },
            },
          },
        };
      },
    });
    await using c = await cluster({ controllers: [shy], workloads: { broken: () => true } });
    await create(c.client, "a");
    await expect(c.converges()).rejects.toThrow(
      "Memcached.cache.example.com default/a came to rest and is not ready: ChildrenNotReady: Deployment.apps a 0 of 1 replicas are available",
    );
  });
});

test("a claim without a class gets a volume, and a pod with it runs", async () => {
  await using c = await cluster({ workloads: true });
  const claim = { namespace: "default", name: "data" };
  const resources = { requests: { storage: "1Gi" } };
  await c.client
    .kind(PersistentVolumeClaim)
    .create({ metadata: claim, spec: { accessModes: ["ReadWriteOnce"], resources } });
  const containers = [
    { name: "main", image: "nginx:1.22", volumeMounts: [{ name: "data", mountPath: "/data" }] },
  ];
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  await c.client.kind(Pod).create({ metadata: claim, spec: { containers, volumes } });
  await c.until(async () => (await c.client.kind(Pod).get(claim)).status?.phase === "Running");
  expect((await c.client.kind(PersistentVolumeClaim).get(claim)).status?.phase).toBe("Bound");
});
