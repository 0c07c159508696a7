/** Generated scenarios with fixed seeds: a sample of what `npm run explore -- --operator etcd` plays. */
import { Beginnings, explore, formatReport, planOf, replay } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { found } from "./explore/found.ts";
import { foundClaims } from "./explore/found-claims.ts";
import { foundDeletion } from "./explore/found-deletion.ts";
import { foundTrust } from "./explore/found-trust.ts";
import { subject } from "./explore/index.ts";

test("the operator passes thirty generated scenarios", { timeout: 600_000 }, async () => {
  const report = await explore(subject, { runs: 30, seed: 1, failures: 3 });
  expect(report.failures.length, formatReport(subject.name, report)).toBe(0);
  expect(report.runs).toBe(30);
});

test("a scenario that is played again is the same in every write", { timeout: 120_000 }, async () => {
  const beginnings = new Beginnings(subject);
  for (const seed of [15, 17, 52]) {
    const once = async () => {
      const writes: string[] = [];
      const { trace } = await replay(subject, planOf(subject, seed), {
        beginnings,
        onEnd: ({ simulation }) => {
          for (const { atMs, manager, method, path } of simulation.cluster.writes)
            writes.push(`${atMs} ${manager} ${method} ${path}`);
        },
      });
      return { trace, writes };
    };
    const first = await once();
    expect(first.writes).not.toEqual([]);
    expect(await once(), `seed ${seed}`).toEqual(first);
  }
});

describe("what exploring once found", { timeout: 120_000 }, () => {
  const beginnings = new Beginnings(subject);

  const plans = { ...found, ...foundClaims, ...foundDeletion, ...foundTrust };
  test.each(Object.entries(plans))("%s", async (_name, plan) => {
    await replay(subject, plan, { beginnings });
  });
});
