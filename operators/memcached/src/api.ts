/** Memcached: a cache of a given size. */
import { quantity, resource, set, z } from "keelson";

export const Memcached = resource({
  group: "cache.keelson.dev",
  kind: "Memcached",
  version: "v1alpha1",
  shortNames: ["mc"],
  spec: z.object({
    size: z.int().min(1).max(9).default(3).describe("How many servers."),
    image: z.string().default("memcached:1.6").describe("The image that runs."),
    memory: quantity().default("64Mi").describe("What each server may keep."),
  }),
  status: z.object({
    readyReplicas: z.int().optional().describe("Servers that answer."),
    nodes: set(z.string()).optional().describe("The names of the servers' pods."),
    selector: z.string().optional(),
  }),
  columns: { Size: ".spec.size", Running: ".status.readyReplicas" },
  scale: {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.readyReplicas",
    labelSelectorPath: ".status.selector",
  },
});
