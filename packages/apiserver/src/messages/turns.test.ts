import { systemClock } from "@keelson/core";
import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

/** Uses processor time. */
function work(ms: number): void {
  const before = process.cpuUsage();
  for (let used = 0; used < ms * 1_000; ) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
}

test("work of more than 10 ms gives others their turn, and begins to count again", async () => {
  const turns = new Turns(systemClock);
  expect(turns.late()).toBe(false);
  work(12);
  expect(turns.late()).toBe(true);
  await turns.rest();
  expect(turns.late()).toBe(false);
});

test("nothing rests under a clock that stands still", () => {
  const turns = new Turns({ ...systemClock, monotonic: () => 0 });
  work(12);
  expect(turns.late()).toBe(false);
});

test("waiting is no work", () => {
  let nowMs = 0;
  const turns = new Turns({ ...systemClock, monotonic: () => nowMs });
  work(12);
  nowMs = 1_000;
  expect(turns.late()).toBe(true);
  const next = new Turns({ ...systemClock, monotonic: () => nowMs });
  nowMs = 2_000;
  expect(next.late()).toBe(false);
});
