/** The short form of `npm run attack`. */
import { expect, test } from "vitest";
import { attackApi } from "./api.ts";
import type { Result } from "./attack.ts";

test("attacks on authorization, tokens, names and proxies are blocked", { timeout: 120_000 }, async () => {
  const results: Result[] = [];
  await attackApi({ compare: false, short: true, tell: (result) => results.push(result) });
  expect(results.filter(({ outcome }) => outcome !== "blocked")).toEqual([]);
  expect(results.length).toBeGreaterThan(90);
});
