/** The operator of README.md. */
import { controller, resource, z } from "keelson";
import { Deployment } from "keelson/kinds";

export const Memcached = resource({
  group: "cache.example.com",
  kind: "Memcached",
  version: "v1",
  spec: z.object({ size: z.int().min(1).max(9).default(3) }),
});

export const memcached = controller(Memcached, {
  owns: { deployment: Deployment }, // watch, cache, permissions and pruning follow from this line
  compose: ({ metadata, spec }) => {
    const labels = { app: metadata.name };
    const containers = [{ name: "memcached", image: "memcached:1.6" }];
    const template = { metadata: { labels }, spec: { containers } };
    const selector = { matchLabels: labels };
    return { children: { deployment: { spec: { replicas: spec.size, selector, template } } } };
  },
});
