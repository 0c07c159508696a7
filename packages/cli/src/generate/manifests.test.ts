/** What installs an operator that serves webhooks. */
import { ConfigMap } from "@keelson/core/kinds";
import { admissionPolicy, controller, deny, done, webhook } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { expect, test } from "vitest";
import { z } from "zod";
import { manifestsFor } from "./manifests.ts";

const Schedule = resource({
  group: "batch.example.com",
  kind: "Schedule",
  versions: { v1beta1: { spec: z.object({ at: z.string() }) }, v1: { spec: z.object({ hour: z.string() }) } },
  storage: "v1",
  conversions: {
    v1beta1: {
      toStored: ({ spec }) => ({ spec: { hour: spec.at } }),
      fromStored: ({ spec }) => ({ spec: { at: spec.hour } }),
    },
  },
});
const schedule = controller(Schedule, { reconcile: async () => done() });
const project = {
  ...{ directory: ".", name: "ops", version: "1.0.0", dependencies: {}, entry: "", main: "" },
};
const options = { namespace: "here", image: "ops:1", replicas: 2 };
const parts = {
  name: "ops",
  resources: [Schedule],
  controllers: [schedule],
  webhooks: [],
  policies: [],
};

test("webhooks bring a Service, an empty Secret, their registration and permissions by name", () => {
  const guard = webhook(ConfigMap, { name: "guard", failurePolicy: "Ignore", validate: () => deny("no") });
  const policy = admissionPolicy(ConfigMap, {
    name: "small",
    validations: [{ expression: "size(object.metadata.name) < 20", message: "too long" }],
  });
  const manifests = manifestsFor(project, { ...parts, webhooks: [guard], policies: [policy] }, options);
  const of = (kind: string) =>
    manifests.filter((each) => each.kind === kind) as never as Record<string, never>[];
  const service = { namespace: "here", name: "ops-webhook", port: 443 };
  expect(of("CustomResourceDefinition")[0]).toMatchObject({
    spec: {
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { service: { ...service, path: "/convert" } } },
      },
    },
  });
  expect(of("Secret")).toEqual([
    expect.objectContaining({
      metadata: expect.objectContaining({ name: "ops-webhook", namespace: "here" }),
    }),
  ]);
  expect(of("Service")[1]).toMatchObject({ spec: { ports: [{ port: 443, targetPort: "webhook" }] } });
  expect(of("ValidatingWebhookConfiguration")[0]).toMatchObject({
    metadata: { name: "ops" },
    webhooks: [
      { failurePolicy: "Ignore", clientConfig: { service: { ...service, path: "/validate/guard" } } },
    ],
  });
  expect(of("MutatingWebhookConfiguration")).toEqual([]);
  expect(of("ValidatingAdmissionPolicy")).toHaveLength(1);
  expect(of("ValidatingAdmissionPolicyBinding")).toHaveLength(1);
  expect(of("Role")[0]).toMatchObject({
    rules: expect.arrayContaining([
      {
        apiGroups: [""],
        resources: ["secrets"],
        verbs: ["get", "list", "watch", "update"],
        resourceNames: ["ops-webhook"],
      },
    ]),
  });
  expect(of("ClusterRole")[0]).toMatchObject({
    rules: expect.arrayContaining([
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        verbs: ["get", "list", "watch", "patch"],
        resourceNames: ["schedules.batch.example.com"],
      },
    ]),
  });
  const [deployment] = of("Deployment") as never as {
    spec: { template: { spec: { containers: { ports: object[] }[] } } };
  }[];
  expect(deployment?.spec.template.spec.containers[0]?.ports).toContainEqual({
    name: "webhook",
    containerPort: 9443,
  });
});

test("an operator without webhooks has none of it", () => {
  const Plain = resource({ group: "a.example.com", kind: "Plain", version: "v1", spec: z.object({}) });
  const plain = controller(Plain, { reconcile: async () => done() });
  const manifests = manifestsFor(project, { ...parts, resources: [Plain], controllers: [plain] }, options);
  expect(manifests.map(({ kind }) => kind)).not.toContain("Secret");
  expect(manifests.map(({ metadata }) => metadata.name)).not.toContain("ops-webhook");
});
