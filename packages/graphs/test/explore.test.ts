/** A sample of what `npm run explore -- --operator graphs` plays at length. */
import { explore } from "@keelson/testing";
import { expect, test } from "vitest";
import { subject } from "./explore/index.ts";

test("ten scenarios leave nothing stuck, nothing behind and nothing to write", async () => {
  const report = await explore(subject, { runs: 10, seed: 4_711 });
  expect(report.failures.map(({ test: found }) => found)).toEqual([]);
}, 60_000);
