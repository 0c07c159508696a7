/** Rollouts, rollbacks, jobs with indexes, nodes that are lost: what recordings of end states do not show. */
import type { Client } from "@keelson/client";
import { dynamicKind, type ObjectOf } from "@keelson/core";
import {
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Job,
  Namespace,
  Node,
  Pod,
  PriorityClass,
  ReplicaSet,
  ServiceAccount,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until, untilEvent } from "./control-planes.ts";
import { type PlayedNodes, playNodes } from "./played-nodes.ts";

const revision = "deployment.kubernetes.io/revision";

onEveryControlPlane("workloads", (start, on) => {
  let plane: ControlPlane;
  let client: Client;
  let nodes: PlayedNodes;
  beforeAll(async () => {
    plane = await start({ nodeGraceSeconds: 4 });
    client = plane.client;
    await until(
      client,
      ServiceAccount,
      { name: "default", namespace: "default" },
      (each) => each !== undefined,
    );
    nodes = await playNodes(client, { names: ["one", "two"], cpu: "4" });
  }, 60_000);
  afterAll(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
  });

  const template = (app: string, image: string, more: object = {}) => ({
    metadata: { labels: { app } },
    spec: { containers: [{ name: "main", image }], terminationGracePeriodSeconds: 0, ...more },
  });

  const isRolledOut = (each: ObjectOf<typeof Deployment> | undefined) =>
    each?.status?.observedGeneration === each?.metadata.generation &&
    each?.status?.updatedReplicas === each?.spec.replicas &&
    each?.status?.availableReplicas === each?.spec.replicas &&
    each?.status?.replicas === each?.spec.replicas;

  it("an old template comes back under its old name, as a new revision", async () => {
    const ref = { name: "web", namespace: "default" };
    const apply = async (image: string) => {
      await client.kind(Deployment).apply(
        {
          metadata: ref,
          spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template: template("web", image) },
        },
        { force: true, fieldManager: "test" },
      );
      return await until(client, Deployment, ref, isRolledOut);
    };
    await apply("app:1");
    const [first] = (await client.kind(ReplicaSet).list({ namespace: "default", labels: "app=web" })).items;
    await apply("app:2");
    const back = await apply("app:1");
    expect(back.metadata.annotations?.[revision]).toBe("3");
    const sets = (await client.kind(ReplicaSet).list({ namespace: "default", labels: "app=web" })).items;
    expect(sets).toHaveLength(2);
    const running = sets.find(({ spec }) => spec.replicas === 2);
    expect(running?.metadata.uid).toBe(first?.metadata.uid);
    expect(running?.metadata.annotations).toMatchObject({
      [revision]: "3",
      "deployment.kubernetes.io/revision-history": "1",
    });
  });

  it("every index of a job has its own pod, name and variable", async () => {
    const metadata = { name: "indexed", namespace: "default" };
    await client.kind(Job).create({
      metadata,
      spec: {
        completions: 3,
        parallelism: 2,
        completionMode: "Indexed",
        template: {
          metadata: { labels: { behave: "succeed" } },
          spec: { containers: [{ name: "main", image: "app" }], restartPolicy: "Never" },
        },
      },
    });
    const done = await until(client, Job, metadata, (each) =>
      Boolean(each?.status?.conditions?.some(({ type, status }) => type === "Complete" && status === "True")),
    );
    expect(done.status).toMatchObject({ completedIndexes: "0-2", succeeded: 3 });
    const { items } = await client.kind(Pod).list({ namespace: "default", labels: "job-name=indexed" });
    expect(items.map(({ spec }) => spec.hostname).sort()).toEqual(["indexed-0", "indexed-1", "indexed-2"]);
    const index = "metadata.labels['batch.kubernetes.io/job-completion-index']";
    expect(items[0]?.spec.containers[0]?.env?.[0]).toMatchObject({
      name: "JOB_COMPLETION_INDEX",
      valueFrom: { fieldRef: { fieldPath: index } },
    });
    expect(items.every(({ metadata: { finalizers = [] } }) => finalizers.length === 0)).toBe(true);
  });

  it("an index that fails for good does not keep the others from succeeding", async () => {
    const metadata = { name: "partly", namespace: "default" };
    await client.kind(Job).create({
      metadata,
      spec: {
        completions: 2,
        parallelism: 2,
        completionMode: "Indexed",
        backoffLimitPerIndex: 0,
        template: template("partly", "app", { restartPolicy: "Never" }),
      },
    });
    const pods = async () =>
      (await client.kind(Pod).list({ namespace: "default", labels: "app=partly" })).items;
    await until(client, Job, metadata, (each) => each?.status?.active === 2);
    const index = "batch.kubernetes.io/job-completion-index";
    for (const pod of await pods()) {
      const behave = pod.metadata.annotations?.[index] === "0" ? "fail" : "succeed";
      await client
        .kind(Pod)
        .patch(pod.metadata, { type: "merge", body: { metadata: { labels: { behave } } } });
    }
    const ended = await until(client, Job, metadata, (each) =>
      Boolean(each?.status?.conditions?.some(({ type, status }) => type === "Failed" && status === "True")),
    );
    expect(ended.status).toMatchObject({
      completedIndexes: "1",
      failedIndexes: "0",
      succeeded: 1,
      failed: 1,
    });
    const reason = ended.status?.conditions?.find(({ type }) => type === "Failed")?.reason;
    expect(reason).toBe("FailedIndexes");
  });

  it("a more important pod takes the place of a less important one", async () => {
    await client.kind(PriorityClass).create({ metadata: { name: "vital" }, value: 1000 });
    const large = (name: string, more: object) => ({
      metadata: { name, namespace: "default" },
      spec: {
        nodeSelector: { "kubernetes.io/hostname": "one" },
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "main", image: "app", resources: { requests: { cpu: "3" } } }],
        ...more,
      },
    });
    const isPlaced = (each: ObjectOf<typeof Pod> | undefined) => Boolean(each?.spec.nodeName);
    const meek = await client.kind(Pod).create(large("meek", {}));
    await until(client, Pod, meek.metadata, isPlaced);
    const vital = await client.kind(Pod).create(large("vital", { priorityClassName: "vital" }));
    expect(await untilEvent(client, vital, "FailedScheduling")).toMatch(
      /^0\/2 nodes are available: 1 Insufficient cpu/,
    );
    expect(await untilEvent(client, meek, "Preempted")).toMatch(/ on node one$/);
    expect((await until(client, Pod, vital.metadata, isPlaced)).spec.nodeName).toBe("one");
    await client.kind(Pod).delete(vital.metadata);
  });

  it("an owner in another namespace is no owner, and that is told", async () => {
    const owner = await client.kind(ConfigMap).create({ metadata: { name: "owner", namespace: "default" } });
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid };
    const child = (namespace: string) => ({
      metadata: { name: "child", namespace, ownerReferences: [reference] },
    });
    await client.kind(ConfigMap).create(child("default"));
    await client.kind(Namespace).create({ metadata: { name: "elsewhere" } });
    const stray = await client.kind(ConfigMap).create(child("elsewhere"));
    expect(await untilEvent(client, stray, "OwnerRefInvalidNamespace")).toBe(
      `ownerRef [v1/ConfigMap, namespace: elsewhere, name: owner, uid: ${owner.metadata.uid}] does not exist in ` +
        'namespace "elsewhere"',
    );
    await until(client, ConfigMap, { name: "child", namespace: "elsewhere" }, (each) => each === undefined);
    expect(await client.kind(ConfigMap).find({ name: "child", namespace: "default" })).toBeDefined();
    await client.kind(ConfigMap).delete(owner.metadata);
    await until(client, ConfigMap, { name: "child", namespace: "default" }, (each) => each === undefined);
  });

  it("children of a kind that came later are collected, also when the kind goes", async ({ skip }) => {
    if (on === "real") skip("the real garbage collector learns of new kinds only every 30 s");
    const Thing = dynamicKind({
      group: "test.example.com",
      version: "v1",
      kind: "Thing",
      resource: "things",
      scope: "Namespaced",
    });
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
    await client.kind(CustomResourceDefinition).create({
      metadata: { name: "things.test.example.com" },
      spec: {
        group: "test.example.com",
        scope: "Namespaced",
        names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    });
    await until(client, CustomResourceDefinition, { name: "things.test.example.com" }, (each) =>
      Boolean(
        each?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True"),
      ),
    );
    const owned = async (name: string) => {
      const owner = await client.kind(Thing).create({ metadata: { name, namespace: "default" } });
      const { uid } = owner.metadata;
      const ownerReferences = [{ apiVersion: "test.example.com/v1", kind: "Thing", name, uid }];
      const ref = { name: `of-${name}`, namespace: "default" };
      await client.kind(ConfigMap).create({ metadata: { ...ref, ownerReferences } });
      return ref;
    };
    const first = await owned("first");
    const second = await owned("second");
    await client.kind(Thing).delete({ name: "first", namespace: "default" });
    await until(client, ConfigMap, first, (each) => each === undefined);
    // Nobody can be asked about the owner any more when its child is looked at.
    await client.kind(CustomResourceDefinition).delete({ name: "things.test.example.com" });
    await until(client, ConfigMap, second, (each) => each === undefined);
  });

  it("a namespace goes when the last finalizer in it is taken off, and says what it waits for", async () => {
    const namespace = "leaving";
    await client.kind(Namespace).create({ metadata: { name: namespace } });
    const held = { name: "held", namespace };
    await client.kind(ConfigMap).create({ metadata: { ...held, finalizers: ["example.com/hold"] } });
    await client.kind(Namespace).delete({ name: namespace });
    const waiting = await until(client, Namespace, { name: namespace }, (each) =>
      Boolean(
        each?.status?.conditions?.some(
          ({ type, status }) => type === "NamespaceFinalizersRemaining" && status === "True",
        ),
      ),
    );
    expect(waiting.status?.conditions?.map(({ message }) => message)).toContain(
      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    );
    await client.kind(ConfigMap).patch(held, { type: "merge", body: { metadata: { finalizers: null } } });
    await until(client, Namespace, { name: namespace }, (each) => each === undefined);
  }, 60_000);

  it("pods of a lost node are given up after the time they tolerate, and made again elsewhere", async () => {
    const tolerations = ["not-ready", "unreachable"].map((name) => ({
      key: `node.kubernetes.io/${name}`,
      operator: "Exists" as const,
      effect: "NoExecute" as const,
      tolerationSeconds: 1,
    }));
    const ref = { name: "mobile", namespace: "default" };
    const nodeAffinity = {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          preference: {
            matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In" as const, values: ["one"] }],
          },
        },
      ],
    };
    await client.kind(Deployment).create({
      metadata: ref,
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "mobile" } },
        template: template("mobile", "app", { tolerations, affinity: { nodeAffinity } }),
      },
    });
    await until(client, Deployment, ref, isRolledOut);
    const pods = async () =>
      (await client.kind(Pod).list({ namespace: "default", labels: "app=mobile" })).items;
    const [first] = await pods();
    const home = first?.spec.nodeName ?? "";
    nodes.lose(home);
    const lost = await until(client, Node, { name: home }, (each) =>
      Boolean(each?.spec.taints?.some(({ effect }) => effect === "NoExecute")),
    );
    expect(lost.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
    });
    expect(lost.spec.taints?.map(({ key, effect }) => `${key}:${effect}`).sort()).toEqual([
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/unreachable:NoSchedule",
    ]);
    const evicted = await until(
      client,
      Pod,
      first?.metadata ?? { name: "" },
      (each) => each === undefined || each.metadata.deletionTimestamp !== undefined,
    );
    expect(evicted.status?.conditions?.find(({ type }) => type === "DisruptionTarget")).toMatchObject({
      status: "True",
      reason: "DeletionByTaintManager",
    });
    await until(client, Deployment, ref, (each) => (each?.status?.availableReplicas ?? 0) === 1);
    const running = (await pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(running.map(({ spec }) => spec.nodeName)).not.toContain(home);
    await client.kind(Node).delete({ name: home });
  }, 60_000);
});
