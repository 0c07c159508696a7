/** Quotas: what is counted, in which scope, and that what goes is given back. */
import type { Client } from "@keelson/client";
import {
  ConfigMap,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until } from "./control-planes.ts";

const container = (cpu?: string) => ({
  name: "main",
  image: "none",
  ...(cpu ? { resources: { requests: { cpu }, limits: { cpu } } } : {}),
});

onEveryControlPlane("quotas", (start) => {
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
  });
  afterAll(() => plane?.[Symbol.asyncDispose]());

  async function freshNamespace(name: string): Promise<string> {
    await client.kind(Namespace).create({ metadata: { name } });
    await until(client, ServiceAccount, { name: "default", namespace: name }, (each) => each !== undefined);
    await until(
      client,
      ConfigMap,
      { name: "kube-root-ca.crt", namespace: name },
      (each) => each !== undefined,
    );
    return name;
  }

  it("counts what is there, and gives back what goes", async () => {
    const namespace = await freshNamespace("counted");
    await client.kind(Secret).create({ metadata: { name: "early", namespace } });
    const hard = {
      pods: "10",
      "requests.cpu": "10",
      "limits.cpu": "10",
      services: "10",
      "services.nodeports": "10",
      persistentvolumeclaims: "10",
      "requests.storage": "100Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "50Gi",
      secrets: "10",
      "count/configmaps": "10",
      "count/deployments.apps": "10",
    };
    const ref = { name: "all", namespace };
    await client.kind(ResourceQuota).create({ metadata: ref, spec: { hard } });
    const first = await until(client, ResourceQuota, ref, (quota) => quota?.status?.used !== undefined);
    expect(first.status?.hard).toEqual(hard);
    expect(first.status?.used).toMatchObject({ pods: "0", secrets: "1", "count/configmaps": "1" });

    await client
      .kind(Pod)
      .create({ metadata: { name: "one", namespace }, spec: { containers: [container("1500m")] } });
    await client
      .kind(Pod)
      .create({ metadata: { name: "two", namespace }, spec: { containers: [container("500m")] } });
    const ports = [{ port: 80 }, { port: 81, name: "b" }];
    await client.kind(Service).create({
      metadata: { name: "door", namespace },
      spec: { type: "NodePort", ports: ports.map((each, i) => ({ ...each, name: `p${i}` })) },
    });
    await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "data", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "fast",
        resources: { requests: { storage: "5Gi" } },
      },
    });
    const full = await until(
      client,
      ResourceQuota,
      ref,
      ({ status } = {} as never) =>
        status?.used?.["requests.cpu"] === "2" &&
        status.used["services.nodeports"] === "2" &&
        status.used["requests.storage"] === "5Gi",
    );
    expect(full.status?.used).toEqual({
      pods: "2",
      "requests.cpu": "2",
      "limits.cpu": "2",
      services: "1",
      "services.nodeports": "2",
      persistentvolumeclaims: "1",
      "requests.storage": "5Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "5Gi",
      secrets: "1",
      "count/configmaps": "1",
      "count/deployments.apps": "0",
    });

    await client.kind(Pod).delete({ name: "one", namespace }, { gracePeriodSeconds: 0 });
    await client.kind(Service).delete({ name: "door", namespace });
    await until(
      client,
      ResourceQuota,
      ref,
      ({ status } = {} as never) => status?.used?.pods === "1" && status.used.services === "0",
    );
  });

  it("counts a pod that is over no more", async () => {
    const namespace = await freshNamespace("over");
    const ref = { name: "pods", namespace };
    await client
      .kind(ResourceQuota)
      .create({ metadata: ref, spec: { hard: { pods: "5", "count/pods": "5" } } });
    await until(client, ResourceQuota, ref, (quota) => quota?.status?.used !== undefined);
    await client
      .kind(Pod)
      .create({ metadata: { name: "short", namespace }, spec: { containers: [container()] } });
    await until(client, ResourceQuota, ref, (quota) => quota?.status?.used?.pods === "1");
    await client
      .kind(Pod)
      .subresource("status")
      .patch({ name: "short", namespace }, { type: "merge", body: { status: { phase: "Succeeded" } } });
    const quota = await until(client, ResourceQuota, ref, (each) => each?.status?.used?.pods === "0");
    expect(quota.status?.used).toEqual({ pods: "0", "count/pods": "1" });
  });

  it("counts in its scope only", async () => {
    const namespace = await freshNamespace("scoped");
    const ref = { name: "best", namespace };
    await client
      .kind(ResourceQuota)
      .create({ metadata: ref, spec: { hard: { pods: "5" }, scopes: ["BestEffort"] } });
    await until(client, ResourceQuota, ref, (quota) => quota?.status?.used !== undefined);
    await client
      .kind(Pod)
      .create({ metadata: { name: "sure", namespace }, spec: { containers: [container("1")] } });
    await client
      .kind(Pod)
      .create({ metadata: { name: "best", namespace }, spec: { containers: [container()] } });
    const quota = await until(client, ResourceQuota, ref, (each) => each?.status?.used?.pods === "1");
    expect(quota.status?.used).toEqual({ pods: "1" });
  });
});
