import { expect, test } from "vitest";
import { type Compared, summary, withResult } from "./records.ts";

const planOf = (seed: number, size = 5) => ({
  ...{ seed, beginning: "three members" },
  steps: [{ atMs: 0, do: "edit: size", with: { size } }],
});
const result = (over: Partial<Compared> = {}): Compared => ({
  ...{ commit: "aaaaaaaa", plan: planOf(7), simulatedMs: 1, realMs: 1, longestGapMs: 1, acknowledged: 1 },
  problems: [],
  ...over,
});
const failure = result({ problems: ["a write is lost"] });
const another = result({ commit: "bbbbbbbb", plan: planOf(7, 4) });

test("a failure stays until the same scenario passes on another commit, and is remembered then", () => {
  expect(withResult([failure], result())).toEqual([failure]);
  const corrected = result({ commit: "bbbbbbbb" });
  const remembered = { ...corrected, failedBefore: [{ commit: "aaaaaaaa", problems: ["a write is lost"] }] };
  expect(withResult([failure], corrected)).toEqual([remembered]);
  const third = result({ commit: "cccccccc" });
  expect(withResult([remembered], third)).toEqual([{ ...third, failedBefore: remembered.failedBefore }]);
});

test("a failure after a failure keeps both", () => {
  const later = result({ commit: "bbbbbbbb", problems: ["it is not Ready"] });
  expect(withResult([failure], later)).toEqual([
    { ...later, failedBefore: [{ commit: "aaaaaaaa", problems: ["a write is lost"] }] },
  ]);
});

test("another scenario of the same seed takes the place of one that passed, and not of one that failed", () => {
  expect(withResult([result()], another)).toEqual([another]);
  expect(withResult([failure], another)).toEqual([failure, another]);
});

test("results are sorted by their seeds, and leave others alone", () => {
  const first = result({ plan: planOf(1) });
  expect(withResult([result()], first)).toEqual([first, result()]);
});

test("the summary names failures that stand and those that are remembered", () => {
  const told = summary(withResult([failure, result({ plan: planOf(8) })], result({ commit: "bbbbbbbb" })));
  expect(told.split("\n")).toEqual([
    expect.stringMatching(/^2 of 2 scenarios .* on bbbbbbbb, aaaaaaaa$/),
    "seed 7 failed on aaaaaaaa (a write is lost), passes on bbbbbbbb",
  ]);
  expect(summary([failure])).toContain("seed 7 fails on aaaaaaaa (a write is lost)");
});
