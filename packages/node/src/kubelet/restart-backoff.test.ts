import type { Clock } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { RestartBackoff } from "./restart-backoff.ts";

const second = 1_000;
const minute = 60 * second;

describe("the pause before a restart", () => {
  let now = 0;
  const clock = { now: () => now } as Clock;
  /** Ends now and starts as soon as it may; returns how long it had to wait. */
  const restart = (backoff: RestartBackoff) => {
    const ended = now;
    const pause = backoff.remainingMs("c", ended);
    now += pause;
    backoff.advance("c", ended);
    return pause / second;
  };

  test("is none at first, then ten seconds, doubled each time up to five minutes", () => {
    const backoff = new RestartBackoff(clock);
    expect(Array.from({ length: 9 }, () => restart(backoff))).toEqual([
      0, 10, 20, 40, 80, 160, 300, 300, 300,
    ]);
  });

  test("counts from the end, not from now", () => {
    const backoff = new RestartBackoff(clock);
    restart(backoff);
    const ended = now;
    now += 4 * second;
    expect(backoff.remainingMs("c", ended)).toBe(6 * second);
    now += 10 * second;
    expect(backoff.remainingMs("c", ended)).toBe(0);
  });

  test("is forgotten after twice the longest pause without an end, and not before", () => {
    const grown = () => {
      const backoff = new RestartBackoff(clock);
      for (let ends = 0; ends < 8; ends++) restart(backoff);
      return backoff;
    };
    const remembering = grown();
    // Once the longest pause is not enough, nor is exactly twice.
    now += 10 * minute;
    expect(remembering.delayMs("c")).toBe(5 * minute);
    expect(restart(remembering)).toBe(300);

    const forgetting = grown();
    now += 10 * minute + 1;
    expect(restart(forgetting)).toBe(0);
    expect(restart(forgetting)).toBe(10);
  });

  test("belongs to one container, and can be forgotten by name", () => {
    const backoff = new RestartBackoff(clock);
    for (let ends = 0; ends < 4; ends++) restart(backoff);
    expect(backoff.remainingMs("other", now)).toBe(0);
    backoff.forget("c");
    expect(restart(backoff)).toBe(0);
  });
});
