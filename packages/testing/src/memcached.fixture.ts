/** A small operator for the tests of this package: a Memcached becomes a Deployment, a Service and some ConfigMaps. */
import type { Client } from "@keelson/client";
import { ConfigMap, Deployment, Service } from "@keelson/core/kinds";
import { controller, done, many, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { z } from "zod";

export const Memcached = resource({
  group: "cache.example.com",
  kind: "Memcached",
  version: "v1",
  spec: z.object({
    size: z.int().min(1).max(9).default(3),
    extra: z.array(z.string()).default([]),
  }),
  status: z.object({ configs: z.int().optional() }),
});

export const memcached = controller(Memcached, {
  owns: { deployment: Deployment, service: Service, configs: many(ConfigMap) },
  compose: (object, { configs }) => {
    const labels = { app: object.metadata.name };
    return {
      children: {
        deployment: {
          spec: {
            replicas: object.spec.size,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: {
                containers: [
                  { name: "memcached", image: "memcached:1.6", ports: [{ containerPort: 11211 }] },
                ],
              },
            },
          },
        },
        service: { spec: { selector: labels, ports: [{ port: 11211 }] } },
        configs: Object.fromEntries(object.spec.extra.map((key) => [key, { data: { key } }])),
      },
      status: { configs: configs.size },
      outcome:
        configs.size === object.spec.extra.length
          ? done()
          : waiting("Configuring", "configurations are made"),
    };
  },
});

export interface Wish {
  readonly size?: number;
  readonly extra?: string[];
}

export async function create(client: Client, name: string, wish: Wish = {}): Promise<void> {
  await client.kind(Memcached).create({ metadata: { namespace: "default", name }, spec: wish });
}

export async function change(client: Client, name: string, wish: Wish): Promise<void> {
  await client
    .kind(Memcached)
    .patch({ namespace: "default", name }, { type: "merge", body: { spec: { ...wish } } });
}
