import { describe, expect, test } from "vitest";
import { SeededRandom } from "./seeded-random.ts";
import { VirtualClock } from "./virtual-clock.ts";

describe("the virtual clock", () => {
  test("fires timers in order of time, then of creation", async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.timer(20, () => fired.push("c"));
    clock.timer(10, () => fired.push("a"));
    clock.timer(10, () => fired.push("b"));
    await clock.advance(15);
    expect(fired).toEqual(["a", "b"]);
    await clock.advance(5);
    expect(fired).toEqual(["a", "b", "c"]);
    expect(clock.monotonic()).toBe(20);
  });

  test("lets promises and immediates run between two timers", async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    clock.timer(1, () => {
      order.push("first");
      void Promise.resolve()
        .then(() => new Promise<void>((resolve) => setImmediate(resolve)))
        .then(() => order.push("its promise"));
    });
    clock.timer(2, () => order.push("second"));
    await clock.advance(2);
    expect(order).toEqual(["first", "its promise", "second"]);
  });

  test("fires a timer that a timer sets within the same advance", async () => {
    const clock = new VirtualClock();
    const times: number[] = [];
    clock.timer(5, () => clock.timer(5, () => times.push(clock.monotonic())));
    await clock.advance(10);
    expect(times).toEqual([10]);
  });

  test("does not fire what was cancelled", async () => {
    const clock = new VirtualClock();
    let fired = false;
    const cancel = clock.timer(1, () => {
      fired = true;
    });
    cancel();
    cancel();
    await clock.advance(10);
    expect(fired).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test("waits for work that no timer stands for", async () => {
    let inFlight = 1;
    const clock = new VirtualClock({ busy: () => inFlight > 0 });
    let fired = false;
    clock.timer(1, () => {
      fired = true;
    });
    setTimeout(() => {
      expect(fired).toBe(false);
      inFlight = 0;
    }, 5);
    await clock.advance(1);
    expect(fired).toBe(true);
  });

  test("a jump moves the wall clock and no duration", async () => {
    const clock = new VirtualClock({ startMs: 1_000 });
    clock.jump(3_600_000);
    expect(clock.now()).toBe(3_601_000);
    expect(clock.monotonic()).toBe(0);
  });

  test("runs work to its end and says when it never ends", async () => {
    const clock = new VirtualClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.timer(ms, resolve));
    await clock.run(sleep(90_000).then(() => sleep(90_000)));
    expect(clock.monotonic()).toBe(180_000);
    await expect(clock.run(new Promise(() => {}), 1_000)).rejects.toThrow("did not end within 1000 ms");
  });
});

describe("seeded randomness", () => {
  test("draws the same from the same seed and something else from another", () => {
    const draw = (seed: number) => Array.from({ length: 5 }, () => new SeededRandom(seed).next());
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  test("a fork depends on its name alone, not on what was drawn before", () => {
    const one = new SeededRandom(1);
    const two = new SeededRandom(1);
    two.next();
    expect(one.fork("queue").uuid()).toBe(two.fork("queue").uuid());
    expect(one.fork("queue").uuid()).not.toBe(one.fork("cache").uuid());
  });

  test("spreads over the whole range", () => {
    const random = new SeededRandom(3);
    const buckets = new Array(10).fill(0);
    for (let i = 0; i < 10_000; i++) buckets[Math.floor(random.next() * 10)]++;
    for (const count of buckets) expect(count).toBeGreaterThan(850);
  });

  test("makes uuids of version 4", () => {
    expect(new SeededRandom(1).uuid()).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});
