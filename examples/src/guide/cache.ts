/** A resource: one value that is the type, the schema that the API server enforces, and the CRD. */
import { cel, immutable, quantity, resource, z } from "keelson";

export const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  version: "v1",
  shortNames: ["ca"],
  spec: z.object({
    size: z.int().min(1).max(9).default(3).describe("How many servers."),
    image: z.string().default("memcached:1.6"),
    memory: quantity().default("64Mi"),
    zone: z.string().optional().check(immutable("a cache cannot move")),
    window: z
      .object({ from: z.int(), to: z.int() })
      .check(cel("self.from < self.to", "the window ends before it begins"))
      .optional(),
  }),
  status: z.object({ readyReplicas: z.int().optional() }),
  columns: { Size: ".spec.size", Running: ".status.readyReplicas" },
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.readyReplicas" },
});
