/** The dashboard and the alerts ask only for what is there, and show everything that is. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DatabaseMetrics, metricNames } from "../src/metrics.ts";

const read = async (file: string) => await readFile(join(import.meta.dirname, "..", file), "utf8");
const asked = (text: string) =>
  new Set(
    [...text.matchAll(/\bdatabase_[a-z_]+/g)].map(([name]) => name).filter((name) => name !== "database_"),
  );

it.each(["dashboard.json", "alerts.yaml"])("%s asks for no unknown metric", async (file) => {
  const known: readonly string[] = metricNames;
  expect([...asked(await read(file))].filter((name) => !known.includes(name))).toEqual([]);
});

it("the dashboard shows every metric", async () => {
  const shown = asked(await read("dashboard.json"));
  expect(metricNames.filter((name) => !shown.has(name))).toEqual([]);
});

it("there is nothing to tell before the first pass", () => {
  expect(new DatabaseMetrics().families().flatMap(({ samples }) => samples)).toEqual([]);
});
