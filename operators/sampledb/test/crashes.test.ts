/**
 * The operator is killed before and after what it does: each write to the API server, each call that changes a Redis. Here
 * a few of each scenario, the same every time; `npm run crashes -- --operator sampledb` tries all of them.
 */
import { describe, expect, test } from "vitest";
import { everyCrash, journeys } from "./crashes.ts";

const sample = { count: 2, seed: 13 };

describe("no write that WAIT acknowledged is lost, whenever the operator dies", () => {
  test.each(Object.entries(journeys))("%s", { timeout: 300_000 }, async (_, scenario) => {
    expect((await everyCrash(scenario, { sample })).runs).toBe(1 + sample.count);
  });
});
