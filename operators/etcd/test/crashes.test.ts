/**
 * The operator is killed before and after what it does, in every scenario: each write to the API server, each call that
 * changes etcd. `KEELSON_EXPLORE=all` tries all of them; otherwise a few of each scenario.
 */
import { describe, expect, test } from "vitest";
import * as scenarios from "./scenarios.ts";
import { everyCrash } from "./simulation/explore.ts";

const all = process.env["KEELSON_EXPLORE"] === "all";
/** They take hours of a cluster's time: fewer crashes of each, unless all are wanted. */
const long = new Set(["certificatesRenewed", "authoritiesReplaced", "authorityLost", "defragmented"]);

describe("a scenario ends the same, whenever the operator crashes", () => {
  test.each(Object.entries(scenarios))("%s", { timeout: 1_800_000 }, async (name, scenario) => {
    const atMost = long.has(name) ? 3 : 8;
    const { writes, calls, runs } = await everyCrash(scenario, all ? {} : { atMost });
    expect(runs).toBeGreaterThan(all ? 2 * (writes + calls) : atMost);
    if (all) console.info(`${name}: ${writes} writes, ${calls} calls to etcd, ${runs} runs`);
  });
});
