/** A status that is said in parts. */
import { controller, done } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Site = resource({
  group: "test.example.com",
  kind: "Site",
  version: "v1",
  spec: z.object({ paused: z.boolean().default(false) }),
  status: z.object({ record: z.string().optional(), replicas: z.int().optional() }),
});
const ref = { namespace: "default", name: "a" };

test("a second setStatus of a reconcile keeps what the first one said, and what neither says goes", async () => {
  const site = controller(Site, {
    async reconcile({ spec }, ctx) {
      if (!spec.paused) ctx.setStatus({ record: "r-1" });
      ctx.setStatus({ replicas: 2 });
      return done();
    },
  });
  await using c = await cluster({ controllers: [site] });
  await c.client.kind(Site).create({ metadata: ref, spec: {} });
  await c.converges();
  expect((await c.client.kind(Site).get(ref)).status).toMatchObject({ record: "r-1", replicas: 2 });

  await c.client.kind(Site).patch(ref, { type: "merge", body: { spec: { paused: true } } });
  await c.converges();
  expect((await c.client.kind(Site).get(ref)).status).not.toHaveProperty("record");
});
