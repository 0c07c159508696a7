/** What the API server refuses. */
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { SampleDB } from "./sampledb.ts";

async function created(spec: object) {
  await using c = await cluster({ resources: [SampleDB] });
  const metadata = { namespace: "default", name: "db" };
  return await c.client.kind(SampleDB).create(SampleDB.object({ metadata, spec: spec as never }));
}

test("two migrations of one version are refused", async () => {
  const migration = (name: string, version: number) => ({ name, version, script: "return 1" });
  const spec = (second: number) => ({
    version: "7.0",
    migrations: [migration("one", 1), migration("two", second)],
  });
  await expect(created(spec(1))).rejects.toThrow(/migrations/);
  await created(spec(2));
});
