/** Where pods go, what volumes they take along, and the words for why they go nowhere. */
import type { Client } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  type PodSpec,
  ServiceAccount,
  StorageClass,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until, untilEvent } from "./control-planes.ts";
import { type PlayedNodes, playNodes } from "./played-nodes.ts";

const namespace = "default";
const noHelp =
  "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";

onEveryControlPlane("scheduling", (start, on) => {
  let plane: ControlPlane;
  let client: Client;
  let nodes: PlayedNodes;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
    await until(client, ServiceAccount, { name: "default", namespace }, (each) => each !== undefined);
    nodes = await playNodes(client, {
      names: ["a", "b", "c"],
      labels: (name) => ({ zone: name === "c" ? "far" : "near" }),
      cpu: "2",
    });
    // Nodes are born tainted, until somebody has seen that they are ready.
    for (const name of ["a", "b", "c"]) {
      await until(client, Node, { name }, (each) => (each?.spec.taints ?? []).length === 0);
    }
  }, 60_000);
  afterAll(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
  });

  const create = async (name: string, spec: Partial<PodSpec>, labels: Record<string, string> = {}) =>
    await client.kind(Pod).create({
      metadata: { name, namespace, labels },
      spec: { containers: [{ name: "main", image: "app" }], terminationGracePeriodSeconds: 0, ...spec },
    });
  const asking = (cpu: string) => ({
    containers: [{ name: "main", image: "app", resources: { requests: { cpu } } }],
  });
  const isPlaced = (each: ObjectOf<typeof Pod> | undefined) => Boolean(each?.spec.nodeName);
  const nodeOf = async (pod: ObjectOf<typeof Pod>) =>
    (await until(client, Pod, pod.metadata, isPlaced)).spec.nodeName;

  const refused = async (pod: ObjectOf<typeof Pod>) => {
    const message = await untilEvent(client, pod, "FailedScheduling");
    const told = await until(client, Pod, pod.metadata, (each) =>
      Boolean(
        each?.status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False"),
      ),
    );
    expect(told.status?.conditions?.find(({ type }) => type === "PodScheduled")).toMatchObject({
      reason: "Unschedulable",
      message,
      observedGeneration: 1,
    });
    await client.kind(Pod).delete(pod.metadata);
    return message;
  };

  it("says in one sentence why no node will do", async () => {
    expect(await refused(await create("nowhere", { nodeSelector: { zone: "none" } }))).toBe(
      `0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. ${noHelp}`,
    );
    expect(await refused(await create("large", { ...asking("3"), nodeSelector: { zone: "near" } }))).toBe(
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient cpu. " +
        noHelp,
    );
  });

  it("says which claims it waits for", async () => {
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "absent" } }];
    expect(await refused(await create("claimless", { volumes }))).toBe(
      '0/3 nodes are available: persistentvolumeclaim "absent" not found. not found',
    );
    await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "unbound", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "none",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const unbound = [{ name: "data", persistentVolumeClaim: { claimName: "unbound" } }];
    expect(await refused(await create("waiting", { volumes: unbound }))).toBe(
      "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
    );
  });

  it("keeps pods apart, and says when there is no room apart", async () => {
    const requirement = [{ topologyKey: "zone", labelSelector: { matchLabels: { app: "apart" } } }];
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: requirement } };
    const first = await create("apart-1", { affinity }, { app: "apart" });
    const second = await create("apart-2", { affinity }, { app: "apart" });
    const places = [await nodeOf(first), await nodeOf(second)];
    expect(places.filter((name) => name === "c")).toHaveLength(1);
    const third = await create("apart-3", { affinity }, { app: "apart" });
    expect(await refused(third)).toBe(
      "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, " +
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
    );
    for (const pod of [first, second]) await client.kind(Pod).delete(pod.metadata);
  });

  it("places a pod that waited as soon as there is room", async () => {
    const only = { nodeSelector: { "kubernetes.io/hostname": "a" } };
    const first = await create("first", { ...asking("1500m"), ...only });
    expect(await nodeOf(first)).toBe("a");
    const second = await create("second", { ...asking("1"), ...only });
    expect(await untilEvent(client, second, "FailedScheduling")).toMatch(
      /^0\/3 nodes are available: 1 Insufficient cpu/,
    );
    await client.kind(Pod).delete(first.metadata);
    expect(await nodeOf(second)).toBe("a");
    await client.kind(Pod).delete(second.metadata);
  });

  it("chooses the volume with the node, where the class waits for that", async () => {
    await client.kind(StorageClass).create({
      metadata: { name: "disks" },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const expression = { key: "kubernetes.io/hostname", operator: "In" as const, values: ["b"] };
    await client.kind(PersistentVolume).create({
      metadata: { name: "disk-b" },
      spec: {
        capacity: { storage: "5Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "disks",
        local: { path: "/disk" },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      },
    });
    await until(client, PersistentVolume, { name: "disk-b" }, (each) => each?.status?.phase === "Available");
    const claim = await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "disk", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "disks",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    expect(await untilEvent(client, claim, "WaitForFirstConsumer")).toBe(
      "waiting for first consumer to be created before binding",
    );
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "disk" } }];
    const pod = await create("disk-user", { volumes });
    expect(await nodeOf(pod)).toBe("b");
    const bound = await until(
      client,
      PersistentVolumeClaim,
      claim.metadata,
      (each) => each?.status?.phase === "Bound",
    );
    expect(bound.spec.volumeName).toBe("disk-b");
    const far = await create("disk-too-far", { volumes, nodeSelector: { zone: "far" } });
    expect(await refused(far)).toBe(
      "0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) didn't match Pod's " +
        `node affinity/selector. ${noHelp}`,
    );
  });

  it("has a volume made where the pod goes", async ({ skip }) => {
    if (on === "real") skip("the real control plane has no provisioner for local volumes");
    await client.kind(StorageClass).create({
      metadata: { name: "made" },
      provisioner: "keelson.dev/local",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const claim = await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "made", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "made",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "made" } }];
    const pod = await create("made-user", { volumes, nodeSelector: { zone: "far" } });
    expect(await nodeOf(pod)).toBe("c");
    const bound = await until(
      client,
      PersistentVolumeClaim,
      claim.metadata,
      (each) => each?.status?.phase === "Bound",
    );
    expect(bound.metadata.annotations?.["volume.kubernetes.io/selected-node"]).toBe("c");
  });
});
