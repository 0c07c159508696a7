/** A parent kind for tests, and definitions that make controllers of it. */
import type { AnyKind, JsonObject, KubeObject } from "@keelson/core";
import { ConfigMap, Deployment, Namespace, Pod, Secret, Service } from "@keelson/core/kinds";
import type { RawController } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { z } from "zod";
import { type HookOptions, hookControllers } from "../src/index.ts";
import type { HookServer } from "./hook-server.ts";

/** A resource of a user's own, with the selector that Metacontroller wants. */
export const Thing = resource({
  group: "example.com",
  version: "v1",
  kind: "Thing",
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }).optional(),
    replicas: z.int().optional(),
    text: z.string().optional(),
  }),
  status: z.object({ children: z.int().optional(), text: z.string().optional() }),
});

/** The same without a namespace. */
export const ClusterThing = resource({
  group: "example.com",
  version: "v1",
  kind: "ClusterThing",
  scope: "Cluster",
  spec: z.object({ text: z.string().optional() }),
  status: z.object({ text: z.string().optional() }),
});

const kinds: readonly AnyKind[] = [
  Thing,
  ClusterThing,
  ConfigMap,
  Secret,
  Pod,
  Service,
  Deployment,
  Namespace,
];

/** Finds the kinds of these tests without a server. */
export const discovering: Parameters<typeof hookControllers>[1] = {
  discover: async (apiVersion, name) => {
    const found = kinds.find(
      (kind) =>
        (kind.group === "" ? kind.version : `${kind.group}/${kind.version}`) === apiVersion &&
        (kind.resource === name || kind.kind === name),
    );
    if (found) return found;
    throw Object.assign(new Error(`the server has no ${name}`), { code: "KindUnknown" });
  },
};

export function composite(server: HookServer, spec: JsonObject = {}): KubeObject {
  const webhook = { url: `${server.url}/sync` };
  return {
    apiVersion: "metacontroller.k8s.io/v1alpha1",
    kind: "CompositeController",
    metadata: { name: "things" },
    spec: {
      parentResource: { apiVersion: "example.com/v1", resource: "things" },
      childResources: [{ apiVersion: "v1", resource: "configmaps", updateStrategy: { method: "InPlace" } }],
      hooks: { sync: { webhook } },
      ...spec,
    },
  } as KubeObject;
}

export function decorator(server: HookServer, spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: "metacontroller.k8s.io/v1alpha1",
    kind: "DecoratorController",
    metadata: { name: "decorates" },
    spec: {
      resources: [
        {
          apiVersion: "v1",
          resource: "secrets",
          annotationSelector: { matchExpressions: [{ key: "decorate", operator: "Exists" }] },
        },
      ],
      attachments: [{ apiVersion: "v1", resource: "configmaps", updateStrategy: { method: "InPlace" } }],
      hooks: { sync: { webhook: { url: `${server.url}/sync` } } },
      ...spec,
    },
  } as KubeObject;
}

/** The controllers of a definition, with calls that virtual time waits for. */
export async function controllersFor(
  server: HookServer,
  definition: KubeObject,
  options: HookOptions = {},
): Promise<RawController[]> {
  return await hookControllers([definition], discovering, {
    transport: server.transport,
    services: "dns",
    ...options,
  });
}

/** A ConfigMap as a hook returns it. */
export function map(name: string, data: JsonObject, more: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { thing: "one" }, ...more }, data };
}
