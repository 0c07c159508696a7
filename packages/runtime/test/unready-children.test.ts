/** What is said of children that are not ready, without a word of the author. */
import { Deployment } from "@keelson/core/kinds";
import { controller, many } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Site = resource({
  group: "test.example.com",
  kind: "Site",
  version: "v1",
  spec: z.object({ parts: z.int() }),
  status: z.object({}),
});
const ref = { namespace: "default", name: "a" };

const site = controller(Site, {
  owns: { web: many(Deployment) },
  compose: ({ spec }) => ({
    children: {
      web: Object.fromEntries(
        Array.from({ length: spec.parts }, (_, part) => [
          String(part),
          {
            spec: {
              selector: { matchLabels: { app: "web" } },
              template: {
                metadata: { labels: { app: "web" } },
                spec: { containers: [{ name: "web", image: "web" }] },
              },
            },
          },
        ]),
      ),
    },
  }),
});

test.each([
  [1, "Deployment.apps a-0 0 of 1 replicas are updated"],
  [3, "Deployment.apps a-0 0 of 1 replicas are updated, and 2 more"],
])(
  "of %i children that are not ready the first is named, and how many more there are",
  async (parts, told) => {
    await using c = await cluster({ controllers: [site] });
    await c.client.kind(Site).create({ metadata: ref, spec: { parts } });
    await c.settle();
    const { status } = await c.client.kind(Site).get(ref);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ status: "False", reason: "ChildrenNotReady", message: told });
  },
);
