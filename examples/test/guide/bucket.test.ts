/** The Bucket operator of the guide: an hour passes in milliseconds, and answers are lost at the worst moment. */
import { cluster, serverError } from "@keelson/testing";
import { ConfigMap, Secret } from "keelson/kinds";
import { expect, test } from "vitest";
import { Bucket, bucketController, type Provider } from "../../src/guide/bucket.ts";

const here = { namespace: "default", name: "photos" };

/** Buckets by idempotency key; `full` are not empty. */
function fakeProvider() {
  const made = new Map<string, string>();
  const full = new Set<string>();
  const provider: Provider = {
    create: async (_region, _key, idempotencyKey) => {
      const id = made.get(idempotencyKey) ?? `bucket-${made.size + 1}`;
      made.set(idempotencyKey, id);
      return { id };
    },
    isEmpty: async (id) => !full.has(id),
    remove: async (id) => {
      for (const [key, value] of made) if (value === id) made.delete(key);
    },
  };
  return { provider, made, full };
}

test("waits for its secret, and makes one bucket however often it dies", async () => {
  for (const write of [1, 2, 3, 4, 5]) {
    const { provider, made } = fakeProvider();
    await using c = await cluster({ controllers: [bucketController(provider)] });
    await c.client.kind(Bucket).create(Bucket.object({ metadata: here, spec: { credentials: "key" } }));
    await c.converges({ ready: false });
    c.crashAt(write, "after");
    await c.client
      .kind(Secret)
      .create({ metadata: { namespace: "default", name: "key" }, stringData: { key: "k" } });
    await c.converges();
    expect([...made.values()]).toEqual(["bucket-1"]);
    expect((await c.client.kind(ConfigMap).get(here)).data?.["bucket"]).toBe("bucket-1");
  }
});

test("goes only when it is empty, however long that takes", async () => {
  const { provider, made, full } = fakeProvider();
  await using c = await cluster({ controllers: [bucketController(provider)] });
  await c.client
    .kind(Secret)
    .create({ metadata: { namespace: "default", name: "key" }, stringData: { key: "k" } });
  await c.client.kind(Bucket).create(Bucket.object({ metadata: here, spec: { credentials: "key" } }));
  await c.converges();

  full.add("bucket-1");
  await c.client.kind(Bucket).delete(here);
  await c.advance(3_600_000);
  expect(await c.client.kind(Bucket).find(here)).toBeDefined();

  full.clear();
  c.faults.inject({ fault: serverError(), times: 3 });
  await c.until(async () => (await c.client.kind(Bucket).find(here)) === undefined);
  expect([...made]).toEqual([]);
});
