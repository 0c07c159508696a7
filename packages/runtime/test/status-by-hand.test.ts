/** A status that a person changes in one place. */
import { controller, done } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Site = resource({
  group: "test.example.com",
  kind: "Site",
  version: "v1",
  spec: z.object({}),
  status: z.object({
    pair: z.object({ left: z.string().optional(), right: z.string().optional() }).optional(),
    agent: z.string().optional(),
  }),
});
const ref = { namespace: "default", name: "a" };
const pair = { left: "l", right: "r" };

test.each<[string, object]>([
  ["a field that the author does not say goes", { agent: "a person" }],
  ["a map that is taken away comes back", { pair: null }],
  ["a field of a map that is taken away comes back", { pair: { left: null } }],
])("%s", async (_, status) => {
  const site = controller(Site, {
    async reconcile(_site, ctx) {
      ctx.setStatus({ pair });
      return done();
    },
  });
  await using c = await cluster({ controllers: [site] });
  await c.client.kind(Site).create({ metadata: ref, spec: {} });
  await c.converges();
  const kind = c.client.kind(Site);
  await kind.subresource("status").patch(ref, { type: "merge", body: { status } as never });
  await c.converges();
  const found = (await kind.get(ref)).status;
  expect(found?.pair).toEqual(pair);
  expect(found).not.toHaveProperty("agent");
});
