import { describe, expect, it } from "vitest";
import { checkHistory } from "./history.ts";
import { read, write } from "./operation.fixture.ts";

describe("a history", () => {
  it("shows a write that was acknowledged and is not there", () => {
    const report = checkHistory([write(1, 0, 1, 2), write(2, 2, 3, 3)], new Map([["k", 1]]));
    expect(report.violations.join()).toContain("acknowledged up to 2");
    expect(report.lost).toBe(1);
  });

  it("shows a value that was never written", () => {
    expect(checkHistory([write(1, 0, 1), write(3, 2)], new Map([["k", 2]])).violations.join()).toContain(
      "is 2",
    );
    expect(checkHistory([], new Map([["k", 5]])).violations.join()).toContain("is 5");
    expect(checkHistory([], new Map([["k", 0]])).violations).toEqual([]);
  });

  it("shows a write whose revision is older than one that had been answered", () => {
    const { violations } = checkHistory([write(1, 0, 1, 5), write(2, 2, 3, 4)], new Map([["k", 2]]));
    expect(violations.join()).toContain("has revision 4");
  });

  it("counts what was acknowledged", () => {
    const report = checkHistory([write(1, 0, 1, 2), write(2, 2)], new Map([["k", 2]]));
    expect(report).toEqual({ operations: 2, acknowledged: 1, lost: 0, violations: [] });
  });

  it("may lose what was above the revision that a recovery continued from, and nothing else", () => {
    const history = [write(1, 0, 1, 2), write(2, 2, 3, 3), write(3, 10, 11, 3), read(3, 12, 13, 3)];
    const recovery = { atMs: 5, revision: 2n };
    expect(checkHistory(history, new Map([["k", 3]]), { recovery }).violations).toEqual([]);
    const emptied = [write(1, 0, 1, 2), write(2, 2, 3, 3), read(0, 10, 11, 3)];
    expect(checkHistory(emptied, new Map([["k", 0]]), { recovery }).violations).not.toEqual([]);
    const kept = [write(1, 0, 1, 2), write(2, 2, 3, 3), read(2, 10, 11, 3)];
    expect(checkHistory(kept, new Map([["k", 2]]), { recovery }).violations).toEqual([]);
    expect(checkHistory(kept, new Map([["k", 1]]), { recovery }).violations).not.toEqual([]);
  });

  it("may show stale reads where the order is not checked, but no lost write", () => {
    const stale = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)];
    expect(checkHistory(stale, new Map([["k", 2]])).violations).toHaveLength(1);
    expect(checkHistory(stale, new Map([["k", 2]]), { order: false }).violations).toEqual([]);
    expect(checkHistory(stale, new Map([["k", 1]]), { order: false })).toMatchObject({ lost: 1 });
  });
});
