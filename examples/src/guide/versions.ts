/** Two versions of one resource, and the functions between them. */
import { resource, z } from "keelson";

export const Schedule = resource({
  group: "batch.example.com",
  kind: "Schedule",
  versions: {
    v1beta1: { spec: z.object({ at: z.string().regex(/^\d{2}:\d{2}$/) }) },
    v1: { spec: z.object({ hour: z.string().regex(/^\d{2}$/), minute: z.string().regex(/^\d{2}$/) }) },
  },
  storage: "v1",
  conversions: {
    v1beta1: {
      toStored: ({ spec }) => ({ spec: { hour: spec.at.slice(0, 2), minute: spec.at.slice(3) } }),
      fromStored: ({ spec }) => ({ spec: { at: `${spec.hour}:${spec.minute}` } }),
    },
  },
});
