/** The webhook and the policy of the guide. */
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { cachePolicy, cacheWebhook } from "../../src/guide/admission.ts";
import { Cache } from "../../src/guide/cache.ts";
import { cache } from "../../src/guide/compose.ts";

const here = { namespace: "default", name: "sessions" };

test("a cache gets a zone, and does not shrink", async () => {
  await using c = await cluster({ controllers: [cache], webhooks: [cacheWebhook] });
  const made = await c.client.kind(Cache).create(Cache.object({ metadata: here, spec: { size: 2 } }));
  expect(made.spec.zone).toBe("eu-1");
  const shrink = c.client.kind(Cache).patch(here, { type: "merge", body: { spec: { size: 1 } } });
  await expect(shrink).rejects.toThrow("only cache-admins may shrink a cache");
});

test("a cache has an owner", async () => {
  await using c = await cluster({ resources: [Cache], policies: [cachePolicy] });
  const nobody = Cache.object({ metadata: here, spec: {} });
  await expect(c.client.kind(Cache).create(nobody)).rejects.toThrow("who pays?");
  await c.client.kind(Cache).create({ ...nobody, metadata: { ...here, labels: { owner: "me" } } });
});
