import { describe, expect, test } from "vitest";
import { check, isLinearizable, type Operation } from "./history.ts";

function write(value: number, startMs: number, endMs?: number, revision?: number): Operation {
  return {
    key: "k",
    type: "write",
    value,
    startMs,
    endMs,
    revision: revision === undefined ? undefined : BigInt(revision),
  };
}

function read(value: number, startMs: number, endMs: number, revision?: number): Operation {
  return {
    key: "k",
    type: "read",
    value,
    startMs,
    endMs,
    revision: revision === undefined ? undefined : BigInt(revision),
  };
}

describe("a history is linearizable", () => {
  test("when reads see the latest write that had ended", () => {
    expect(isLinearizable([write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)])).toBe(true);
  });

  test("when a read beside a write sees either value", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 6), read(1, 3, 4), read(2, 4.5, 5)])).toBe(true);
  });

  test("not when a read sees what had been overwritten before it began", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)])).toBe(false);
  });

  test("not when a later read sees an older value", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 9), read(2, 3, 4), read(1, 5, 6)])).toBe(false);
  });

  test("not when an acknowledged write is never seen", () => {
    expect(isLinearizable([write(1, 0, 1), read(0, 2, 3)])).toBe(false);
  });

  test("when a write without an answer took effect late, or never", () => {
    expect(isLinearizable([write(1, 0), read(0, 5, 6), read(1, 7, 8)])).toBe(true);
    expect(isLinearizable([write(1, 0), read(0, 5, 6), read(0, 7, 8)])).toBe(true);
  });

  test("with many writes whose answers never came, and in no time", () => {
    const unanswered = Array.from({ length: 200 }, (_, n) => write(n + 1, 0));
    expect(isLinearizable([...unanswered, write(1_000, 1, 2), read(1_000, 3, 4)])).toBe(true);
    expect(isLinearizable([...unanswered, write(1_000, 1, 2), read(7, 3, 4), read(1_000, 5, 6)])).toBe(false);
  });

  test("over thousands of operations, without end", () => {
    const long = Array.from({ length: 30_000 }, (_, n) => [
      write(n + 1, n * 10, n * 10 + 6),
      read(n + 1, n * 10 + 7, n * 10 + 8),
    ]).flat();
    expect(isLinearizable(long)).toBe(true);
  });
});

describe("a verdict", () => {
  test("names a write that was acknowledged and is not there", () => {
    const { violations } = check([write(1, 0, 1, 2), write(2, 2, 3, 3)], new Map([["k", 1]]));
    expect(violations.join()).toContain("acknowledged up to 2");
  });

  test("names a write whose revision is older than one that had been answered", () => {
    const { violations } = check([write(1, 0, 1, 5), write(2, 2, 3, 4)], new Map([["k", 2]]));
    expect(violations.join()).toContain("has revision 4");
  });

  test("counts what was acknowledged", () => {
    const verdict = check([write(1, 0, 1, 2), write(2, 2)], new Map([["k", 2]]));
    expect(verdict).toEqual({ operations: 2, acknowledged: 1, violations: [] });
  });

  test("lets go what was above the revision that a recovery began from, and nothing else", () => {
    const history = [write(1, 0, 1, 2), write(2, 2, 3, 3), write(3, 10, 11, 3), read(3, 12, 13, 3)];
    const loss = { atMs: 5, revision: 2n };
    expect(check(history, new Map([["k", 3]]), loss).violations).toEqual([]);
    const emptied = [write(1, 0, 1, 2), write(2, 2, 3, 3), read(0, 10, 11, 3)];
    expect(check(emptied, new Map([["k", 0]]), loss).violations).not.toEqual([]);
    const kept = [write(1, 0, 1, 2), write(2, 2, 3, 3), read(2, 10, 11, 3)];
    expect(check(kept, new Map([["k", 2]]), loss).violations).toEqual([]);
    expect(check(kept, new Map([["k", 1]]), loss).violations).not.toEqual([]);
  });
});
