/** Provokes every error of @keelson/schema. */
import { systemRandom } from "@keelson/core";
import { answerConversionReview, cel, resource, type SchemaErrorCode } from "@keelson/schema";
import { sampleObject } from "@keelson/schema/internal";
import { z } from "zod";
import type { Provocations } from "../provoked.ts";

const names = { group: "cache.example.com", kind: "Memcached" } as const;
const define = (spec: z.ZodObject) => resource({ ...names, version: "v1", spec });
const sized = define(z.object({ size: z.int() }));

const converting = resource({
  ...names,
  storage: "v2",
  versions: { v1: { spec: z.object({ size: z.int() }) }, v2: { spec: z.object({ replicas: z.int() }) } },
  conversions: { v1: { toStored: () => ({}) as never, fromStored: () => ({}) as never } },
});

export const schema: Provocations<SchemaErrorCode> = {
  NotStructural: () => define(z.object({ created: z.date() })),
  Cycle: () => {
    const node: z.ZodObject = z.object({
      get children() {
        return z.array(node);
      },
    });
    return define(node);
  },
  BadPattern: () => define(z.object({ name: z.string().regex(/(?=a)b/) })),
  BadDefault: () => define(z.object({ since: z.string().default((() => new Date(0)) as never) })),
  BadNames: () => resource({ group: "cache", kind: "Memcached", version: "v1", spec: z.object({}) }),
  BadPath: () =>
    resource({ ...names, version: "v1", spec: z.object({ size: z.int() }), columns: { Size: ".spec.sise" } }),
  BadRule: () => define(z.object({ size: z.int().check(cel("self >", "too small")) })),
  BadVersions: () => resource({ ...names, storage: "v2" as "v1", versions: { v1: { spec: z.object({}) } } }),
  UnknownVersion: () => sized.at("v2" as "v1"),
  BadConversion: () =>
    converting.convert({ ...converting.object({ metadata: {}, spec: { replicas: 1 } }) } as never, "v1"),
  BadReview: () => answerConversionReview([sized], { kind: "Pod" } as never),
  NoSample: () =>
    sampleObject(define(z.object({ code: z.string().regex(/^a$b/) })), { random: systemRandom }),
  Invalid: () => sized.parse({ metadata: { name: "a" }, spec: { size: "three" } }),
};
