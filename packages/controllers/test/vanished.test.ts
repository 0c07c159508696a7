/** Objects that went with their owner are not made again by a controller that has not heard of its end yet. */
import type { AnyKind } from "@keelson/core";
import { DaemonSet, Deployment, Node, Pod, ReplicaSet, StatefulSet } from "@keelson/core/kinds";
import { cluster } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { daemonSetController } from "../src/daemonset/daemon-set-controller.ts";
import { deploymentController } from "../src/deployment/deployment-controller.ts";
import { replicaSetController } from "../src/replicas/replica-controller.ts";
import { statefulSetController } from "../src/statefulset/stateful-set-controller.ts";

const here = { namespace: "default", name: "web" };
const labels = { app: "web" };
const spec = {
  selector: { matchLabels: labels },
  template: {
    metadata: { labels },
    spec: { containers: [{ name: "main", image: "nginx" }], tolerations: [{ operator: "Exists" }] },
  },
};
const one = { ...spec, replicas: 1 };

const cases: { owner: AnyKind; child: AnyKind; start: typeof replicaSetController; spec: object }[] = [
  { owner: ReplicaSet, child: Pod, start: replicaSetController, spec: one },
  { owner: Deployment, child: ReplicaSet, start: deploymentController, spec: one },
  { owner: StatefulSet, child: Pod, start: statefulSetController, spec: { ...one, serviceName: "web" } },
  { owner: DaemonSet, child: Pod, start: daemonSetController, spec },
];

describe.each(cases)("a $owner.kind that is gone", ({ owner, child, start, spec: of }) => {
  test(`gets no new ${child.kind} for one that went with it, before its controller has heard of it`, async () => {
    await using c = await cluster({ controllers: [start()] });
    await c.client.kind(Node).create({ metadata: { name: "node-1" } });
    const children = async () => (await c.client.kind(child).list({ namespace: "default" })).items;
    await c.client.kind(owner).create({ metadata: here, spec: of } as never);
    await c.until(async () => (await children()).length === 1);
    await c.advance(5_000);
    c.faults.hold(owner.resource);
    await c.client.kind(owner).delete(here, { propagation: "Background" });
    for (const { metadata } of await children()) await c.client.kind(child).delete(metadata as never);
    await c.advance(60_000);
    expect(await children()).toEqual([]);
    c.faults.clear();
    await c.advance(60_000);
    expect(await children()).toEqual([]);
  });
});
