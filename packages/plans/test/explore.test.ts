/** A sample of what `npm run explore -- --operator plans` plays at length. */
import { explore, replay } from "@keelson/testing";
import { expect, test } from "vitest";
import { subject } from "./explore/index.ts";

test("ten scenarios leave nothing stuck, nothing behind and nothing to write", async () => {
  const report = await explore(subject, { runs: 10, seed: 4_711 });
  expect(report.failures.map(({ test: found }) => found)).toEqual([]);
}, 60_000);

test("a wait ends when the clock is set back by an hour while it lasts", async () => {
  await replay(subject, {
    beginning: "deployed",
    seed: 7105,
    steps: [
      { atMs: 15_100, do: "by hand: a plan is run", with: { plan: "upgrade", id: "1" } },
      { atMs: 15_500, do: "time: the wall clock jumps", with: { minutes: -60 } },
      { atMs: 45_400, do: "node: kubelet cut off", forMs: 8_100, with: { which: 0.499 } },
    ],
  });
}, 60_000);

test("a child that lost its marks and the record of them is still the plan's", async () => {
  await replay(subject, {
    beginning: "deployed",
    seed: 3343,
    steps: [
      { atMs: 0, do: "by hand: the status is wiped" },
      {
        atMs: 0,
        do: "by hand: a label is changed or removed",
        with: { which: 0.18, label: 0.812, value: null },
      },
      { atMs: 0, do: "by hand: owner references are removed", with: { which: 0.107 } },
    ],
  });
}, 60_000);

test("a plan asked for by hand comes after the one that makes everything, whose record is lost", async () => {
  await replay(subject, {
    beginning: "deployed",
    seed: 61605891,
    steps: [
      { atMs: 0, do: "operator: killed" },
      { atMs: 0, do: "by hand: the status is wiped" },
      { atMs: 0, do: "by hand: a child is deleted", with: { which: 0.128 } },
      { atMs: 0, do: "by hand: a plan is run", with: { plan: "upgrade", id: "1" } },
    ],
  });
}, 60_000);
