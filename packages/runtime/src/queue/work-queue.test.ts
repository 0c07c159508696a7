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

describe("what the queue tells of itself", () => {
  test("how many wait, how many are worked on, and for how long", async () => {
    const { clock, queue } = setup();
    expect([queue.depth, queue.processing, queue.idle]).toEqual([0, 0, true]);
    queue.add("a");
    expect([queue.depth, queue.processing, queue.idle]).toEqual([1, 0, false]);
    await queue.take();
    expect([queue.depth, queue.processing, queue.idle]).toEqual([0, 1, false]);
    queue.add("a");
    queue.add("b");
    expect([queue.depth, queue.processing, queue.idle]).toEqual([1, 1, false]);
    await clock.advance(2_500);
    expect(queue.unfinishedSeconds()).toEqual([2.5]);
    queue.finish("a");
    expect([queue.depth, queue.processing, queue.unfinishedSeconds()]).toEqual([2, 0, []]);
  });

  test("metrics hear of each key once, with its times in seconds", async () => {
    const heard: string[] = [];
    const { clock, queue } = setup({
      observer: {
        added: () => void heard.push("added"),
        retried: () => void heard.push("retried"),
        taken: (seconds) => void heard.push(`taken after ${seconds}`),
        finished: (seconds) => void heard.push(`finished after ${seconds}`),
      },
    });
    queue.add("a");
    queue.add("a");
    await clock.advance(1_500);
    await queue.take();
    await clock.advance(500);
    queue.finish("a");
    queue.finish("a");
    queue.retry("a");
    expect(heard).toEqual(["added", "taken after 1.5", "finished after 0.5", "retried"]);
  });

  test("failures are counted for each key", () => {
    const { queue } = setup();
    expect(queue.failures("a")).toBe(0);
    queue.retry("a");
    queue.retry("a");
    queue.retry("b");
    expect([queue.failures("a"), queue.failures("b")]).toEqual([2, 1]);
  });
});

describe("backoff", () => {
  const delays = (random: number, times: number, options: Partial<WorkQueueOptions<string>> = {}) => {
    const { queue } = setup({ random: { next: () => random } as never, ...options });
    return Array.from({ length: times }, () => queue.retry("a"));
  };

  test("begins at 5 ms, doubles, and ends at 1000 s, with a quarter of jitter", () => {
    expect(delays(1, 4)).toEqual([5, 10, 20, 40]);
    expect(delays(0, 4)).toEqual([3.75, 7.5, 15, 30]);
    expect(delays(0.5, 1)).toEqual([4.375]);
    expect(delays(1, 30).at(-1)).toBe(1_000_000);
    expect(delays(1, 2_000).at(-1)).toBe(1_000_000);
    expect(delays(1, 60, { longestRetryMs: Number.POSITIVE_INFINITY }).at(-1)).toBe(5 * 2 ** 40);
  });

  test("is over when its time has come, and not before", async () => {
    const { clock, queue } = setup({ random: { next: () => 1 } as never, firstRetryMs: 100 });
    queue.retry("a", "retry");
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect((await queue.take())?.causes).toEqual(["retry"]);
  });
});

describe("appointments", () => {
  test("in the past are due at once", async () => {
    const { clock, queue } = setup();
    queue.schedule("a", -5, "timer");
    await clock.advance(0);
    expect((await queue.take())?.causes).toEqual(["timer"]);
  });

  test("that are taken back do not come, and the others do, in the order of their times", async () => {
    const { clock, queue } = setup();
    queue.schedule("c", 3_000);
    queue.schedule("a", 1_000);
    queue.schedule("x", 500);
    queue.schedule("b", 2_000);
    queue.unschedule("x");
    await clock.advance(600);
    expect(queue.depth).toBe(0);
    await clock.advance(5_000);
    expect(await takeAll(queue)).toEqual(["a", "b", "c"]);
    expect(queue.idle).toBe(true);
  });

  test("at the same time come in the order in which they were made", async () => {
    const { clock, queue } = setup();
    for (const key of ["b", "a", "d", "c"]) queue.schedule(key, 1_000);
    await clock.advance(1_000);
    expect(await takeAll(queue)).toEqual(["b", "a", "d", "c"]);
  });

  test("may come sooner by a later word", async () => {
    const { clock, queue } = setup();
    queue.schedule("a", 2_000);
    queue.schedule("a", 1_000);
    await clock.advance(1_000);
    expect(await takeAll(queue)).toEqual(["a"]);
    await clock.advance(5_000);
    expect(queue.depth).toBe(0);
  });

  test("leave no timer behind", async () => {
    const { clock, queue } = setup();
    queue.schedule("a", 1_000);
    queue.add("a");
    await takeAll(queue);
    queue.schedule("b", 500);
    queue.close();
    await clock.advance(5_000);
    expect(queue.idle).toBe(true);
  });
});

describe("priority", () => {
  test("background work that has waited for 5 s goes before newer live work", async () => {
    const order = async (laterMs: number) => {
      const { clock, queue } = setup();
      queue.add("old", { priority: "background" });
      await clock.advance(laterMs);
      queue.add("new");
      return await takeAll(queue);
    };
    expect(await order(4_999)).toEqual(["new", "old"]);
    expect(await order(5_000)).toEqual(["old", "new"]);
  });

  test("a live key stays live when it is added as background", async () => {
    const { queue } = setup();
    queue.add("a", { priority: "background" });
    queue.add("b");
    queue.add("b", { priority: "background" });
    expect(await takeAll(queue)).toEqual(["b", "a"]);
  });

  test("a key that a retry brings back is live", async () => {
    const { clock, queue } = setup();
    queue.add("a", { priority: "background" });
    queue.schedule("b", 10);
    await clock.advance(10);
    expect(await takeAll(queue)).toEqual(["b", "a"]);
  });

  test("what is asked about counts for its own addition alone", async () => {
    const { queue } = setup();
    queue.add("a");
    await queue.take();
    queue.add("a", { seen: () => true });
    queue.add("a", { seen: () => false });
    queue.add("b", { priority: "background" });
    queue.finish("a");
    expect(await takeAll(queue)).toEqual(["a", "b"]);
  });

  test("all that was asked about is asked, and only once", async () => {
    const { queue } = setup();
    let asked = 0;
    queue.add("a");
    await queue.take();
    for (let n = 0; n < 100; n++)
      queue.add("a", {
        seen: () => {
          asked++;
          return true;
        },
      });
    // Beyond 64 nobody keeps the question for the end of the run: it is asked at once.
    expect(asked).toBe(36);
    queue.add("b", { priority: "background" });
    queue.finish("a");
    expect(asked).toBe(100);
    await queue.take();
    queue.finish("b");
    await queue.take();
    queue.finish("a");
    expect(asked).toBe(100);
  });
});

describe("causes", () => {
  test("that are the same are one, of which the later stays", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue<{ key: string; at: number }>({
      clock,
      random: new SeededRandom(1),
      isSame: (a, b) => a.key === b.key,
    });
    queue.add("a", { cause: { key: "x", at: 1 } });
    queue.add("a", { cause: { key: "y", at: 2 } });
    queue.add("a", { cause: { key: "x", at: 3 } });
    expect((await queue.take())?.causes).toEqual([
      { key: "x", at: 3 },
      { key: "y", at: 2 },
    ]);
  });

  test("are kept up to 64, and the same one is replaced beyond that as well", async () => {
    const { queue } = setup();
    for (let n = 0; n < 70; n++) queue.add("a", { cause: `${n}` });
    queue.add("a", { cause: "0" });
    const { causes = [] } = (await queue.take()) ?? {};
    expect(causes).toHaveLength(64);
    expect(causes.at(-1)).toBe("63");
  });

  test("none is no cause", async () => {
    const { queue } = setup();
    queue.add("a");
    queue.add("a");
    queue.schedule("b", 0);
    expect((await queue.take())?.causes).toEqual([]);
  });
});

describe("a key that is held", () => {
  test("comes at the end of the hold, or at an appointment before it, with the causes of both", async () => {
    const { clock, queue } = setup();
    queue.hold("a", 1_000);
    queue.schedule("a", 3_000, "timer");
    queue.add("a", { cause: "change" });
    await clock.advance(999);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect((await queue.take())?.causes).toEqual(["change", "timer"]);
  });

  test("that is worked on gathers what comes meanwhile, and is not done twice for it", async () => {
    const { clock, queue } = setup();
    queue.add("a");
    await queue.take();
    queue.hold("a", 1_000);
    queue.add("a", { cause: "one" });
    queue.add("a", { cause: "two" });
    await clock.advance(2_000);
    queue.finish("a");
    expect((await queue.take())?.causes).toEqual(["one", "two"]);
    queue.finish("a");
    expect(queue.idle).toBe(true);
  });

  test("is held no longer than was said, and not for ever after", async () => {
    const { clock, queue } = setup();
    queue.hold("a", 1_000);
    await clock.advance(1_000);
    queue.add("a");
    expect(await takeAll(queue)).toEqual(["a"]);
  });
});

describe("a queue that has closed", () => {
  test("hands out nothing, takes nothing in, and drains", async () => {
    const { clock, queue } = setup();
    await queue.drained();
    queue.add("a");
    queue.schedule("b", 10);
    queue.close();
    queue.close();
    expect(await queue.take()).toBeUndefined();
    queue.schedule("c", 10);
    queue.retry("d");
    queue.add("e");
    await clock.advance(1_000_000);
    expect([queue.depth, queue.idle]).toEqual([0, true]);
    await queue.drained();
  });

  test("does not bring back what was added while it was worked on", async () => {
    const { queue } = setup();
    queue.add("a");
    await queue.take();
    queue.add("a");
    queue.close();
    queue.finish("a");
    expect(queue.depth).toBe(0);
  });
});

test("everyone who waits for the end of the work is told, and nobody before it", async () => {
  const { queue } = setup();
  for (const key of ["a", "b"]) queue.add(key);
  await queue.take();
  await queue.take();
  let told = 0;
  for (let n = 0; n < 2; n++) void queue.drained().then(() => told++);
  queue.finish("a");
  await Promise.resolve();
  expect(told).toBe(0);
  queue.finish("b");
  await Promise.resolve();
  expect(told).toBe(2);
});

test("workers that wait are served in the order in which they came", async () => {
  const { queue } = setup();
  const served: string[] = [];
  for (const worker of ["first", "second"])
    void queue.take().then((item) => served.push(`${worker} ${item?.key}`));
  queue.add("a");
  queue.add("b");
  await Promise.resolve();
  await Promise.resolve();
  expect(served).toEqual(["first a", "second b"]);
});

test("a patient addition to a key that another one has brought is no longer patient", async () => {
  const { clock, queue } = setup({ firstRetryMs: 10_000 });
  queue.add("a");
  await queue.take();
  queue.add("a", { cause: "own status", patient: true });
  queue.add("a", { cause: "spec" });
  queue.retry("a");
  queue.finish("a");
  expect(queue.depth).toBe(1);
  expect((await queue.take())?.causes).toEqual(["own status", "spec"]);
  queue.finish("a");
  await clock.advance(20_000);
  expect(queue.depth).toBe(0);
});
