import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { collectAtRest, collectOnceAtRest, collectVariable, thisProcess } from "./rest.ts";

const MB = 1 << 20;

/** A process that does as it is told, second by second. */
function simulated(watch = collectAtRest) {
  let nowMs = 0;
  let cpuMs = 0;
  let heapBytes = 0;
  let collections = 0;
  let due: (() => void) | undefined;
  const cancel = watch({
    clock: {
      monotonic: () => nowMs,
      timer: (delayMs, run) => {
        expect(delayMs).toBe(1_000);
        due = run;
        return () => {
          due = undefined;
        };
      },
    },
    cpuMs: () => cpuMs,
    heapBytes: () => heapBytes,
    collect: () => {
      collections++;
      heapBytes = 10 * MB;
    },
  });
  const second = (busyMs: number, madeMb: number) => {
    nowMs += 1_000;
    cpuMs += busyMs;
    heapBytes += madeMb * MB;
    const run = due;
    due = undefined;
    run?.();
  };
  const seconds = (count: number, busyMs: number, madeMb: number) => {
    for (let i = 0; i < count; i++) second(busyMs, madeMb);
  };
  return { cancel, seconds, collections: () => collections };
}

test("garbage of a burst is collected once the process rests", () => {
  const process = simulated();
  process.seconds(20, 900, 2);
  expect(process.collections()).toBe(0);
  process.seconds(1, 1, 0);
  expect(process.collections()).toBe(1);
  process.seconds(100, 1, 0);
  expect(process.collections()).toBe(1);
  process.seconds(20, 900, 2);
  process.seconds(1, 1, 0);
  expect(process.collections()).toBe(2);
});

test("a process that always works a little, leaves little or has a large heap is left alone", () => {
  const busy = simulated();
  busy.seconds(60, 30, 1);
  expect(busy.collections()).toBe(0);
  const small = simulated();
  small.seconds(20, 900, 0.5);
  small.seconds(20, 1, 0);
  expect(small.collections()).toBe(0);
  const large = simulated();
  large.seconds(20, 900, 10);
  large.seconds(20, 1, 0);
  expect(large.collections()).toBe(0);
});

test("short bursts are not followed by a collection each, and none follows the end", () => {
  const process = simulated();
  for (let i = 0; i < 30; i++) {
    process.seconds(1, 900, 20);
    process.seconds(1, 1, 0);
  }
  expect(process.collections()).toBeLessThanOrEqual(6);
  process.cancel();
  const before = process.collections();
  process.seconds(20, 1, 20);
  expect(process.collections()).toBe(before);
});

test("what starting left is collected once, after the first burst of work", () => {
  const process = simulated(collectOnceAtRest);
  process.seconds(20, 900, 1);
  expect(process.collections()).toBe(0);
  process.seconds(1, 1, 0);
  expect(process.collections()).toBe(1);
  process.seconds(20, 900, 2);
  process.seconds(20, 1, 0);
  expect(process.collections()).toBe(1);
});

test("this process collects what nobody holds, where its environment asks for it", async () => {
  vi.stubEnv(collectVariable, undefined);
  expect(thisProcess()).toBeUndefined();
  vi.stubEnv(collectVariable, "1");
  const garbage = new WeakRef({});
  await turn();
  thisProcess()?.collect();
  vi.unstubAllEnvs();
  expect(garbage.deref()).toBeUndefined();
  expect(globalThis.gc).toBeUndefined();
});
