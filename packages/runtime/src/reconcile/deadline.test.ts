import { VirtualClock } from "@keelson/testing/clock";
import { expect, test } from "vitest";
import { Stragglers, withDeadline } from "./deadline.ts";

test("work that goes on after its deadline is a straggler until it has ended", async () => {
  const clock = new VirtualClock();
  const stragglers = new Stragglers();
  const work = Promise.withResolvers<void>();
  const options = {
    ...{ clock, timeoutMs: 1_000, signal: new AbortController().signal, stragglers },
    expired: () => new Error("too long"),
  };
  const ended = expect(withDeadline(options, async () => await work.promise)).rejects.toThrow("too long");
  expect(stragglers.size).toBe(0);
  await clock.advance(1_000);
  await ended;
  expect(stragglers.size).toBe(1);
  work.resolve();
  await stragglers.ended();
  expect(stragglers.size).toBe(0);
});
