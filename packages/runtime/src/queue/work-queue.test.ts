import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function setup(options: Partial<WorkQueueOptions<string>> = {}) {
  const clock = new VirtualClock();
  const queue = new WorkQueue<string>({ clock, random: new SeededRandom(1), ...options });
  return { clock, queue };
}

async function takeAll(queue: WorkQueue<string>): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const item = await queue.take();
    if (!item) break;
    keys.push(item.key);
    queue.finish(item.key);
  }
  return keys;
}

describe("the work queue", () => {
  test("processes a key once however often it was added, with every cause", async () => {
    const { queue } = setup();
    queue.add("a", { cause: "created" });
    queue.add("a", { cause: "child" });
    queue.add("a", { cause: "child" });
    const item = await queue.take();
    expect(item).toEqual({ key: "a", causes: ["created", "child"], failures: 0 });
    expect(queue.depth).toBe(0);
  });

  test("never hands a key to two workers, and hands it out again when it was added meanwhile", async () => {
    const { queue } = setup();
    queue.add("a", { cause: "1" });
    await queue.take();
    queue.add("a", { cause: "2" });
    let second: unknown;
    void queue.take().then((item) => {
      second = item;
    });
    await Promise.resolve();
    expect(second).toBeUndefined();
    queue.finish("a");
    await Promise.resolve();
    expect(second).toEqual({ key: "a", causes: ["2"], failures: 0 });
  });

  test("serves in order of arrival", async () => {
    const { queue } = setup();
    for (const key of ["c", "a", "b"]) queue.add(key);
    expect(await takeAll(queue)).toEqual(["c", "a", "b"]);
  });

  test("serves live changes before the initial list", async () => {
    const { queue } = setup();
    queue.add("old", { priority: "background" });
    queue.add("new");
    expect(await takeAll(queue)).toEqual(["new", "old"]);
  });

  test("a background key that changes becomes live", async () => {
    const { queue } = setup();
    queue.add("a", { priority: "background" });
    queue.add("b");
    queue.add("a");
    expect(await takeAll(queue)).toEqual(["b", "a"]);
  });

  test("what a run has seen to comes behind what is new, and what it has not seen stays live", async () => {
    const { queue } = setup();
    let seen = false;
    for (const key of ["a", "b"]) queue.add(key);
    for (const key of ["a", "b"]) expect((await queue.take())?.key).toBe(key);
    // Both are heard of before the runs that wrote them have their answers.
    queue.add("a", { seen: () => seen });
    queue.add("b", { seen: () => false });
    queue.add("c", { priority: "background" });
    seen = true;
    queue.finish("a");
    queue.finish("b");
    queue.add("d", { seen: () => true });
    queue.add("e", { seen: () => false });
    expect(await takeAll(queue)).toEqual(["b", "e", "c", "a", "d"]);
  });

  test("background work is not starved by live work", async () => {
    const { clock, queue } = setup({ agingMs: 1_000 });
    queue.add("background", { priority: "background" });
    let served = -1;
    for (let i = 0; i < 50 && served < 0; i++) {
      queue.add(`live-${i}-a`);
      queue.add(`live-${i}-b`);
      const item = await queue.take();
      if (item?.key === "background") served = i;
      if (item) queue.finish(item.key);
      await clock.advance(100);
    }
    expect(served).toBeGreaterThan(5);
    expect(served).toBeLessThan(30);
  });

  test("retries later each time, up to a longest wait, and soon again once forgotten", async () => {
    const { clock, queue } = setup({ firstRetryMs: 100, longestRetryMs: 1_000 });
    const delays = Array.from({ length: 6 }, () => queue.retry("a"));
    [100, 200, 400, 800, 1000, 1000].forEach((ceiling, i) => {
      expect(delays[i]).toBeGreaterThanOrEqual(ceiling * 0.75);
      expect(delays[i]).toBeLessThanOrEqual(ceiling);
    });
    expect(queue.failures("a")).toBe(6);
    queue.forget("a");
    expect(queue.retry("a")).toBeLessThanOrEqual(100);
    await clock.advance(1_000);
    expect(await takeAll(queue)).toEqual(["a"]);
  });

  test("waits at least as long as the server asked", () => {
    const { queue } = setup();
    expect(queue.retry("a", undefined, 5_000)).toBe(5_000);
  });

  test("adds a scheduled key when its time has come, and only at the last time named", async () => {
    const { clock, queue } = setup();
    queue.schedule("a", 1_000, "timer");
    queue.schedule("a", 2_000, "timer");
    await clock.advance(1_500);
    expect(queue.depth).toBe(0);
    await clock.advance(500);
    expect((await queue.take())?.causes).toEqual(["timer"]);
  });

  test("a retry that gathered several causes is one run, also for a worker that waits", async () => {
    const { clock, queue } = setup();
    queue.retry("a", "retry");
    queue.add("a", { cause: "own status", patient: true });
    const taken = queue.take();
    await clock.advance(10);
    expect((await taken)?.causes).toEqual(["retry", "own status"]);
    queue.finish("a");
    expect(queue.idle).toBe(true);
  });

  test("a run makes an earlier appointment pointless and takes over its causes", async () => {
    const { clock, queue } = setup();
    queue.schedule("a", 1_000, "timer");
    queue.add("a", { cause: "changed" });
    expect((await queue.take())?.causes).toEqual(["changed", "timer"]);
    queue.finish("a");
    await clock.advance(5_000);
    expect(queue.idle).toBe(true);
  });

  test("a change cuts a backoff short, but a patient one does not", async () => {
    const { clock, queue } = setup({ firstRetryMs: 10_000 });
    queue.add("a");
    await queue.take();
    queue.add("a", { cause: "own status", patient: true });
    queue.retry("a", "retry");
    queue.finish("a");
    expect(queue.depth).toBe(0);
    queue.add("a", { cause: "own status again", patient: true });
    expect(queue.depth).toBe(0);
    queue.add("b", { patient: true });
    expect(await takeAll(queue)).toEqual(["b"]);
    await clock.advance(10_000);
    expect((await queue.take())?.causes).toEqual(["retry", "own status", "own status again"]);
    queue.finish("a");
    queue.retry("a");
    queue.add("a", { cause: "spec" });
    expect((await queue.take())?.causes).toContain("spec");
  });

  test("a key that is held gathers its causes and comes when the hold is over", async () => {
    const { clock, queue } = setup();
    queue.add("a");
    await queue.take();
    queue.hold("a", 1_000);
    queue.add("a", { cause: "during" });
    queue.finish("a");
    queue.add("a", { cause: "after" });
    queue.add("b");
    expect(await takeAll(queue)).toEqual(["b"]);
    await clock.advance(999);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect((await queue.take())?.causes).toEqual(["during", "after"]);
    queue.finish("a");
    queue.add("a");
    expect(queue.depth).toBe(1);
  });

  test("a retry that is due within a hold waits for its end", async () => {
    const { clock, queue } = setup({ firstRetryMs: 100 });
    queue.hold("a", 1_000);
    queue.retry("a", "retry");
    queue.add("a", { cause: "change" });
    await clock.advance(200);
    expect(queue.depth).toBe(0);
    await clock.advance(800);
    expect((await queue.take())?.causes).toEqual(["retry", "change"]);
  });

  test("lets waiting workers go when it closes, and drains what is under way", async () => {
    const { queue } = setup();
    queue.add("a");
    await queue.take();
    const idle = queue.take();
    let drained = false;
    void queue.drained().then(() => {
      drained = true;
    });
    queue.close();
    expect(await idle).toBeUndefined();
    expect(drained).toBe(false);
    queue.finish("a");
    await Promise.resolve();
    expect(drained).toBe(true);
    queue.add("b");
    expect(queue.depth).toBe(0);
  });

  test("for any sequence of calls: no key twice at once, none lost, every cause delivered", async () => {
    const key = fc.constantFrom("a", "b", "c");
    const operation = fc.oneof(
      fc.record({ do: fc.constant("add" as const), key, background: fc.boolean() }),
      fc.record({ do: fc.constant("take" as const) }),
      fc.record({ do: fc.constant("finish" as const), key }),
      fc.record({ do: fc.constant("retry" as const), key }),
      fc.record({ do: fc.constant("advance" as const), ms: fc.nat(50) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const { clock, queue } = setup();
        const held = new Set<string>();
        const given = new Set<string>();
        const told = new Set<string>();
        let count = 0;
        const take = async () => {
          if (queue.depth === 0) return;
          const item = await queue.take();
          if (!item) return;
          expect(held.has(item.key)).toBe(false);
          held.add(item.key);
          for (const cause of item.causes) told.add(cause);
        };
        for (const each of operations) {
          if (each.do === "add") {
            const cause = `${each.key}${count++}`;
            given.add(cause);
            queue.add(each.key, { cause, priority: each.background ? "background" : "live" });
          } else if (each.do === "take") await take();
          else if (each.do === "finish") {
            held.delete(each.key);
            queue.finish(each.key);
          } else if (each.do === "retry") queue.retry(each.key);
          else await clock.advance(each.ms);
        }
        for (const key of held) queue.finish(key);
        held.clear();
        for (let i = 0; i < 10 && !queue.idle; i++) {
          await take();
          for (const key of held) queue.finish(key);
          held.clear();
        }
        expect(queue.idle).toBe(true);
        expect(told).toEqual(given);
      }),
      { numRuns: 60 },
    );
  });
});
