/** The short form of `npm run fuzz`: the same requests in every run. */
import { expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";
import { startHere } from "./server.ts";

test("random requests are answered without a fault", { timeout: 120_000 }, async () => {
  const { faults, requests, targets } = await fuzz({
    start: startHere,
    durationMs: 60_000,
    maxRequests: 1500,
    seed: 11,
    clients: 8,
    say: () => {},
  });
  expect(faults).toEqual([]);
  expect(targets).toBeGreaterThan(800);
  expect(requests).toBeGreaterThanOrEqual(500);
});
