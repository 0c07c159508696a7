/** A controller that reconciles: something outside the cluster, with a finalizer and durable steps. */
import { controller, done, fail, ref, resource, waiting, z } from "keelson";
import { ConfigMap, Secret } from "keelson/kinds";

export const Bucket = resource({
  group: "storage.example.com",
  kind: "Bucket",
  version: "v1",
  spec: z.object({ credentials: z.string(), region: z.enum(["north", "south"]).default("north") }),
  status: z.object({ id: z.string().optional() }),
});

/** What the provider offers. It remembers idempotency keys, as such services do. */
export interface Provider {
  create(region: string, key: string, idempotencyKey: string): Promise<{ id: string }>;
  isEmpty(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
}

export const bucketController = (provider: Provider) =>
  controller(Bucket, {
    owns: { config: ConfigMap },
    reads: { secret: ref(Secret, (bucket) => ({ name: bucket.spec.credentials })) },

    async reconcile(bucket, ctx) {
      const { secret } = ctx.read;
      if (!secret) return waiting("SecretMissing", `Secret ${bucket.spec.credentials} does not exist`);
      const key = secret.data?.["key"];
      if (!key) return fail("SecretInvalid", `Secret ${bucket.spec.credentials} has no key named "key"`);

      const id =
        bucket.status?.id ??
        (await ctx.step("create", async ({ idempotencyKey }) => {
          const made = await provider.create(bucket.spec.region, key, idempotencyKey);
          return made.id;
        }));
      ctx.setStatus({ id });
      await ctx.own.config.apply({ data: { bucket: id, region: bucket.spec.region } });
      return done();
    },

    async finalize(bucket, ctx) {
      const id = bucket.status?.id;
      if (id === undefined) return done();
      if (!(await provider.isEmpty(id))) {
        return waiting("NotEmpty", "objects are left in the bucket", { recheckMs: 60_000 });
      }
      await provider.remove(id);
      ctx.event("Normal", "Removed", `bucket ${id} was removed`);
      return done();
    },
  });
