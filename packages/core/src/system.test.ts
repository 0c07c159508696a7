import { expect, test } from "vitest";
import { systemRandom } from "./system.ts";

test("random UUIDs are of version 4 and differ, also beyond the bytes that are drawn at once", () => {
  const uuids = Array.from({ length: 1_000 }, () => systemRandom.uuid());
  expect(new Set(uuids).size).toBe(1_000);
  for (const uuid of uuids)
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
