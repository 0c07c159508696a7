import { describe, expect, it } from "vitest";
import { isLinearizable } from "./linearizable.ts";
import { read, write } from "./operation.fixture.ts";

describe("the history of a key", () => {
  it("is linearizable when reads see the latest write that had ended", () => {
    expect(isLinearizable([write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)])).toBe(true);
  });

  it("is linearizable when a read beside a write sees either value", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 6), read(1, 3, 4), read(2, 4.5, 5)])).toBe(true);
  });

  it("is not linearizable when a read sees what had been overwritten before it started", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)])).toBe(false);
  });

  it("is not linearizable when a later read sees an older value", () => {
    expect(isLinearizable([write(1, 0, 1), write(2, 2, 9), read(2, 3, 4), read(1, 5, 6)])).toBe(false);
  });

  it("is not linearizable when an acknowledged write is never seen", () => {
    expect(isLinearizable([write(1, 0, 1), read(0, 2, 3)])).toBe(false);
  });

  it("is linearizable when an unanswered write took effect late, or never", () => {
    expect(isLinearizable([write(1, 0), read(0, 5, 6), read(1, 7, 8)])).toBe(true);
    expect(isLinearizable([write(1, 0), read(0, 5, 6), read(0, 7, 8)])).toBe(true);
  });

  it("is searched fast in spite of many unanswered writes", () => {
    const unanswered = Array.from({ length: 200 }, (_, n) => write(n + 1, 0));
    expect(isLinearizable([...unanswered, write(1_000, 1, 2), read(1_000, 3, 4)])).toBe(true);
    expect(isLinearizable([...unanswered, write(1_000, 1, 2), read(7, 3, 4), read(1_000, 5, 6)])).toBe(false);
  });

  it("may have thousands of operations", () => {
    const long = Array.from({ length: 30_000 }, (_, n) => [
      write(n + 1, n * 10, n * 10 + 6),
      read(n + 1, n * 10 + 7, n * 10 + 8),
    ]).flat();
    expect(isLinearizable(long)).toBe(true);
  });
});
