/** A Memcached operator, as everyone writes it first. */
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
    image: z.string().default("memcached:1.6"),
    extra: z.array(z.string()).default([]),
  }),
  status: z.object({ readyReplicas: z.int().optional(), configs: z.int().optional() }),
});

export const memcached = controller(Memcached, {
  owns: { deployment: Deployment, service: Service, configs: many(ConfigMap) },
  compose: (object, { deployment, configs }) => {
    const labels = { app: object.metadata.name };
    const { size, image, extra } = object.spec;
    const container = { name: "memcached", image, ports: [{ containerPort: 11211 }] };
    return {
      children: {
        deployment: {
          spec: {
            replicas: size,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [container] } },
          },
        },
        service: { spec: { selector: labels, ports: [{ port: 11211 }] } },
        configs: Object.fromEntries(extra.map((key) => [key, { data: { key } }])),
      },
      status: { readyReplicas: deployment?.status?.readyReplicas ?? 0, configs: configs.size },
      outcome:
        configs.size === extra.length ? done() : waiting("Configuring", "configurations are being made"),
    };
  },
});
