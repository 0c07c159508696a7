/** Disruption budgets: shares of what owners want, and pods that nobody counts. */
import type { Client } from "@keelson/client";
import { dynamicKind, formatTime } from "@keelson/core";
import { CustomResourceDefinition, Deployment, Pod, PodDisruptionBudget } from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until, untilEvent } from "./control-planes.ts";

const namespace = "default";

async function ready(client: Client, name: string): Promise<void> {
  const lastTransitionTime = formatTime(Date.now());
  const conditions = [{ type: "Ready", status: "True" as const, lastTransitionTime }];
  await client
    .kind(Pod)
    .subresource("status")
    .patch({ name, namespace }, { type: "merge", body: { status: { conditions } } });
}

function podOf(app: string, name: string) {
  return {
    metadata: { name, namespace, labels: { app } },
    spec: { nodeName: "anywhere", containers: [{ name: "main", image: "none" }] },
  };
}

onEveryControlPlane("disruption budgets", (start, which) => {
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
  });
  afterAll(() => plane?.[Symbol.asyncDispose]());

  it("takes shares of what a Deployment wants", async () => {
    const labels = { app: "web" };
    await client.kind(Deployment).create({
      metadata: { name: "web", namespace },
      spec: {
        replicas: 4,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
      },
    });
    const ref = { name: "web", namespace };
    await client
      .kind(PodDisruptionBudget)
      .create({ metadata: ref, spec: { maxUnavailable: "30%", selector: { matchLabels: labels } } });
    await until(client, PodDisruptionBudget, ref, (budget) => budget?.status?.expectedPods === 4);
    const { items } = await client.kind(Pod).list({ namespace, labels: "app=web" });
    for (const pod of items.slice(0, 3)) await ready(client, pod.metadata.name);
    const budget = await until(
      client,
      PodDisruptionBudget,
      ref,
      (each) => each?.status?.currentHealthy === 3,
    );
    expect(budget.status).toMatchObject({
      desiredHealthy: 2,
      disruptionsAllowed: 1,
      conditions: [{ type: "DisruptionAllowed", status: "True", reason: "SufficientPods", message: "" }],
    });
  });

  it("counts pods without an owner by number only, and says so", async () => {
    await client.kind(Pod).create(podOf("lone", "lone-1"));
    await ready(client, "lone-1");
    const selector = { matchLabels: { app: "lone" } };
    const shared = await client
      .kind(PodDisruptionBudget)
      .create({ metadata: { name: "lone", namespace }, spec: { maxUnavailable: 1, selector } });
    expect(await untilEvent(client, shared, "UnmanagedPods")).toMatch(/were found to be unmanaged/);
    const budget = await until(
      client,
      PodDisruptionBudget,
      shared.metadata,
      (each) => each?.status?.currentHealthy === 1,
    );
    expect(budget.status).toMatchObject({ desiredHealthy: 0, expectedPods: 0 });
    expect(budget.status?.disruptionsAllowed).toBe(0);
  });

  // The real one learns of new kinds every 30 s only.
  if (which === "real") return;

  it("asks the scale of an owner of a kind of its own", async () => {
    const names = { kind: "Flock", plural: "flocks", singular: "flock", listKind: "FlockList" };
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await client.kind(CustomResourceDefinition).create({
      metadata: { name: "flocks.example.com" },
      spec: {
        group: "example.com",
        names,
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema,
            subresources: {
              scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
            },
          },
        ],
      },
    });
    await until(client, CustomResourceDefinition, { name: "flocks.example.com" }, (each) =>
      Boolean(
        each?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True"),
      ),
    );
    const Flock = dynamicKind({
      group: "example.com",
      version: "v1",
      kind: "Flock",
      resource: "flocks",
      scope: "Namespaced",
    });
    const flock = await client.kind(Flock).create({
      apiVersion: "example.com/v1",
      kind: "Flock",
      metadata: { name: "geese", namespace },
      spec: { replicas: 10 },
    } as never);
    const { metadata, spec } = podOf("geese", "goose");
    const owner = { apiVersion: "example.com/v1", kind: "Flock", name: "geese", uid: flock.metadata.uid };
    await client
      .kind(Pod)
      .create({ metadata: { ...metadata, ownerReferences: [{ ...owner, controller: true }] }, spec });
    const ref = { name: "geese", namespace };
    await client.kind(PodDisruptionBudget).create({
      metadata: ref,
      spec: { minAvailable: "50%", selector: { matchLabels: { app: "geese" } } },
    });
    const budget = await until(client, PodDisruptionBudget, ref, (each) => each?.status?.expectedPods === 10);
    expect(budget.status).toMatchObject({ desiredHealthy: 5, disruptionsAllowed: 0, currentHealthy: 0 });
  });
});
