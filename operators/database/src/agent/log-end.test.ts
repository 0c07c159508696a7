import { describe, expect, test } from "vitest";
import { parseLsn } from "../ha/lsn.ts";
import { gapAfter, gapText, parseHistory } from "./log-end.ts";

test("the history of a timeline is where the ones before it were left", () => {
  const text = "# a remark\n1\t0/3000000\tno recovery target specified\n\n2\t0/5000000\tx\n";
  expect(parseHistory(text)).toEqual([
    { timeline: 1, lsn: parseLsn("0/3000000") },
    { timeline: 2, lsn: parseLsn("0/5000000") },
  ]);
});

describe("a log that was replayed", () => {
  const before = "1\t0/3000000\tx\n2\t0/5000000\tx\n";
  const said = (lsn: string, timeline?: number) => ({ time: "", lsn, ...(timeline && { timeline }) });
  test.each([
    ["leads as far as its primary had said", "3\t0/7000000\tx", said("0/7000000", 3), undefined],
    ["ends before that", "3\t0/6FFFFFF\tx", said("0/7000000", 3), "0/7000000"],
    ["says nothing of a primary of another timeline", "3\t0/6000000\tx", said("0/7000000", 2), undefined],
    ["says nothing of a primary that named none", "3\t0/6000000\tx", said("0/7000000"), undefined],
    ["ends before the timeline began that it should have led to", "3\t0/4000000\tx", undefined, "0/5000000"],
    ["ends where that one began, of which nothing was archived", "3\t0/5000000\tx", undefined, undefined],
  ])("%s", (_what, end, horizon, until) =>
    expect(gapAfter(parseHistory(before + end), horizon)?.until).toBe(until && parseLsn(until)),
  );

  test("follows a timeline that went back before others", () => {
    const back = `${before}3\t0/2000000\tbefore 2026-01-01\n4\t0/2500000\tx`;
    expect(gapAfter(parseHistory(back), said("0/2400000", 4))).toBeUndefined();
  });

  test("of the first timeline has nothing before it", () => {
    const first = parseHistory("1\t0/3000000\tx");
    expect(gapAfter(first, said("0/2000000", 1))).toBeUndefined();
    expect(gapAfter(first, said("0/4000000", 1))?.until).toBe(parseLsn("0/4000000"));
    expect(gapAfter([], undefined)).toBeUndefined();
  });
});

test("a gap is named with what can be done", () => {
  const gap = { end: parseLsn("0/3000000"), until: parseLsn("0/4000000") };
  expect(gapText(gap, "2026-01-01T00:00:00.5Z")).toMatch(
    /ends at 0\/3000000, before 0\/4000000; .* the targetTime 2026-01-01T00:00:00.5Z$/,
  );
  expect(gapText(gap, undefined)).toMatch(/choose another backup$/);
});
