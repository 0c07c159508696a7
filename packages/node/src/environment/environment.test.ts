import type { Container, Pod } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { serviceEnvironment } from "../kubelet/service-environment.ts";
import { containerEnvironment } from "./environment.ts";

const pod: Pod = {
  metadata: {
    name: "web-0",
    namespace: "shop",
    uid: "u",
    labels: { app: "web" },
    annotations: { "a/b": "c" },
  },
  spec: { nodeName: "n1", serviceAccountName: "sa", containers: [] },
};
const base64 = (text: string) => Buffer.from(text).toString("base64");
const references = {
  configMap: (_: string, name: string) =>
    Promise.resolve(name === "cm" ? { data: { one: "1", two: "2" } } : undefined),
  secret: (_: string, name: string) =>
    Promise.resolve(name === "s" ? { data: { key: base64("hidden") } } : undefined),
};

const environment = (container: Partial<Container>) =>
  containerEnvironment({
    pod,
    container: { name: "c", ...container },
    containers: [{ name: "other", resources: { limits: { memory: "64Mi" } } }],
    services: { DB_SERVICE_HOST: "10.96.0.9" },
    downward: {
      ...{ pod, podAddress: "10.244.0.5", hostAddress: "10.244.0.1", nodeName: "n1" },
      allocatable: { cpu: "2", memory: "1Gi" },
    },
    references,
  });

describe("a container's environment", () => {
  test("later entries win, refer to earlier ones, and hide services", async () => {
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "$(A)-$(two)-$(DB_SERVICE_HOST)" },
      { name: "DB_SERVICE_HOST", value: "mine" },
      { name: "C", value: "$(DB_SERVICE_HOST)" },
    ];
    const result = await environment({ envFrom: [{ configMapRef: { name: "cm" } }], env });
    expect(result).toMatchObject({ one: "1", B: "1-2-10.96.0.9", C: "mine", DB_SERVICE_HOST: "mine" });
  });

  test("prefixes, secrets and optional sources", async () => {
    const envFrom = [
      { prefix: "S_", secretRef: { name: "s" } },
      { configMapRef: { name: "nope", optional: true } },
    ];
    const env = [{ name: "X", valueFrom: { secretKeyRef: { name: "s", key: "none", optional: true } } }];
    const result = await environment({ envFrom, env });
    expect(result.S_key).toBe("hidden");
    expect(result).not.toHaveProperty("X");
  });

  test.each([
    ["metadata.name", "web-0"],
    ["metadata.labels['app']", "web"],
    ["metadata.annotations['a/b']", "c"],
    ["metadata.labels['none']", ""],
    ["spec.nodeName", "n1"],
    ["spec.serviceAccountName", "sa"],
    ["status.podIP", "10.244.0.5"],
    ["status.hostIP", "10.244.0.1"],
  ])("field %s is %j", async (fieldPath, value) => {
    expect((await environment({ env: [{ name: "F", valueFrom: { fieldRef: { fieldPath } } }] })).F).toBe(
      value,
    );
  });

  test.each([
    [{ resource: "limits.memory", containerName: "other", divisor: "1Mi" }, "64"],
    [{ resource: "limits.cpu" }, "2"],
    [{ resource: "requests.cpu", divisor: "1m" }, "250"],
    [{ resource: "limits.memory" }, String(2 ** 30)],
  ])("resource %j is %s", async (resourceFieldRef, value) => {
    const resources = { requests: { cpu: "250m" } };
    const env = [{ name: "R", valueFrom: { resourceFieldRef } }];
    expect((await environment({ resources, env })).R).toBe(value);
  });

  test.each([
    [{ configMapKeyRef: { name: "nope", key: "k" } }, 'configmap "nope" not found'],
    [{ secretKeyRef: { name: "s", key: "nope" } }, "couldn't find key nope in Secret shop/s"],
  ])("what is missing is named: %j", async (valueFrom, message) => {
    await expect(environment({ env: [{ name: "M", valueFrom }] })).rejects.toThrow(message);
  });
});

describe("service variables", () => {
  test("carry every port, and headless services have none", () => {
    const env = serviceEnvironment([
      {
        metadata: { name: "my-db" },
        spec: {
          clusterIP: "10.96.0.9",
          ports: [
            { name: "client", port: 5432 },
            { name: "metrics", port: 9187, protocol: "UDP" },
          ],
        },
      },
      { metadata: { name: "headless" }, spec: { clusterIP: "None", ports: [{ port: 1 }] } },
    ]);
    expect(env).toEqual({
      MY_DB_SERVICE_HOST: "10.96.0.9",
      MY_DB_SERVICE_PORT: "5432",
      MY_DB_SERVICE_PORT_CLIENT: "5432",
      MY_DB_SERVICE_PORT_METRICS: "9187",
      MY_DB_PORT: "tcp://10.96.0.9:5432",
      MY_DB_PORT_5432_TCP: "tcp://10.96.0.9:5432",
      MY_DB_PORT_5432_TCP_PROTO: "tcp",
      MY_DB_PORT_5432_TCP_PORT: "5432",
      MY_DB_PORT_5432_TCP_ADDR: "10.96.0.9",
      MY_DB_PORT_9187_UDP: "udp://10.96.0.9:9187",
      MY_DB_PORT_9187_UDP_PROTO: "udp",
      MY_DB_PORT_9187_UDP_PORT: "9187",
      MY_DB_PORT_9187_UDP_ADDR: "10.96.0.9",
    });
  });
});
