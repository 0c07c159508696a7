/** A sample of what `npm run explore -- --operator graphs` plays at length. */
import { explore, replay } from "@keelson/testing";
import { expect, test } from "vitest";
import { subject } from "./explore/index.ts";

test("ten scenarios leave nothing stuck, nothing behind and nothing to write", async () => {
  const report = await explore(subject, { runs: 10, seed: 4_711 });
  expect(report.failures.map(({ test: found }) => found)).toEqual([]);
}, 60_000);

test("a deletion says what it waits for", async () => {
  await replay(subject, {
    beginning: "two pods",
    seed: 12931,
    steps: [
      { atMs: 0, do: "node: loses power", forMs: 172_000, with: { which: 0.557 } },
      { atMs: 0, do: "edit: the instance is deleted" },
    ],
  });
}, 60_000);
