/**
 * The operator is killed before and after what it does, in every scenario: each write to the API server, each call that
 * changes a Redis. `KEELSON_EXPLORE=all` tries all of them; otherwise a few of each scenario.
 */
import { beforeAll, describe, expect, test } from "vitest";
import * as scenarios from "./scenarios.ts";
import { everyCrash } from "./simulation/explore.ts";

const all = process.env["KEELSON_EXPLORE"] === "all";

beforeAll(() => {
  process.env["OPERATOR_IMAGE"] = "sampledb-operator:test";
});

describe("no write that WAIT acknowledged is lost, whenever the operator dies", () => {
  test.each(Object.entries(scenarios))("%s", { timeout: 1_800_000 }, async (name, scenario) => {
    const { writes, calls, runs } = await everyCrash(scenario, all ? {} : { atMost: 6 });
    expect(runs).toBeGreaterThan(6);
    if (all) console.info(`${name}: ${writes} writes, ${calls} calls to Redis, ${runs} runs`);
  });
});
