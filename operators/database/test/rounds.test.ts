/** The rounds of an agent, under virtual time. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Rounds } from "../src/agent/rounds.ts";
import { Timeline } from "./simulation/clock.ts";

async function rounds(run: (round: number) => Promise<void> = async () => {}) {
  const timeline = new Timeline();
  const began: number[] = [];
  let timers = 0;
  const clock = {
    monotonic: () => timeline.nowMs,
    timer: (delayMs: number, then: () => void) => {
      timers++;
      const cancel = timeline.at(delayMs, then);
      return () => {
        timers--;
        cancel();
      };
    },
  };
  const work = new Rounds({
    clock,
    everyMs: () => 1_000,
    onError: () => {},
    run: async () => {
      began.push(timeline.nowMs);
      await run(began.length);
    },
  });
  void work.run();
  await setImmediate();
  return { work, began, timeline, timers: () => timers };
}

test("rounds come at a steady pace, whatever they end with", async () => {
  const { began, timeline } = await rounds(async () => {
    throw new Error("no");
  });
  await timeline.advance(3_500);
  expect(began).toEqual([0, 1_000, 2_000, 3_000]);
});

test("a round that is called for comes at once, and nothing of the wait is left", async () => {
  const { work, began, timeline, timers } = await rounds();
  await timeline.advance(300);
  work.call();
  await setImmediate();
  await timeline.advance(1_200);
  expect(began).toEqual([0, 300, 1_300]);
  expect(timers()).toBe(1);
});

test("a call during a round is not forgotten", async () => {
  const { work, began, timeline } = await rounds(async (round) => {
    if (round === 2) work.call();
  });
  await timeline.advance(1_500);
  expect(began).toEqual([0, 1_000, 1_000]);
});
