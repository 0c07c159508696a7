/** Generated scenarios with fixed seeds: a sample of what `npm run explore -- --operator etcd` plays. */
import { explore, formatReport } from "@keelson/testing";
import { expect, test } from "vitest";
import { subject } from "./explore/index.ts";

test("the operator passes thirty generated scenarios", { timeout: 600_000 }, async () => {
  const report = await explore(subject, { runs: 30, seed: 1, failures: 3 });
  expect(report.failures.length, formatReport(subject.name, report)).toBe(0);
  expect(report.runs).toBe(30);
});
