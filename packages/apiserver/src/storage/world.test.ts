import { expect, it } from "vitest";
import { realRandom } from "./world.ts";

it("draws UUIDs of version 4, none twice and every digit somewhere", () => {
  const drawn = Array.from({ length: 2_000 }, () => realRandom.uuid());
  expect(new Set(drawn).size).toBe(drawn.length);
  for (const one of drawn)
    expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  for (let at = 0; at < 36; at++) {
    const seen = new Set(drawn.map((one) => one[at])).size;
    expect(seen).toBe([8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16);
  }
});
