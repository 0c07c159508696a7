/** A resource of two versions that only functions convert. */
import { resource } from "@keelson/schema";
import { z } from "zod";

const names = { group: "bench.keelson.dev", kind: "Schedule" } as const;
const versions = {
  v1beta1: { spec: z.object({ at: z.string() }) },
  v1: { spec: z.object({ hour: z.string(), minute: z.string() }) },
};

export const Schedule = resource({
  ...{ ...names, versions, storage: "v1" },
  conversions: {
    v1beta1: {
      toStored: ({ spec }) => ({ spec: { hour: spec.at.slice(0, 2), minute: spec.at.slice(3) } }),
      fromStored: ({ spec }) => ({ spec: { at: `${spec.hour}:${spec.minute}` } }),
    },
  },
});
