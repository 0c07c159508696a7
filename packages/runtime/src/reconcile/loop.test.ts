/** Changes become keys, keys become runs, and failed runs come again. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ApiError } from "@keelson/client";
import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import type { Change, Informer } from "../cache/informer.ts";
import type { Cause } from "../controller/context.ts";
import { fail, waiting } from "../controller/outcome.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import type { WorkItem } from "../queue/work-queue.ts";
import { Loop, type LoopDefinition, type LoopWatch, type Verdict } from "./loop.ts";
import { reconcileChannel } from "./report.ts";

class FakeInformer {
  synced = false;
  readonly listeners = new Set<(change: Change) => void>();
  readonly #ready = Promise.withResolvers<void>();

  onChange(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async whenSynced(): Promise<void> {
    await this.#ready.promise;
  }

  sync(): void {
    this.synced = true;
    this.#ready.resolve();
  }

  tell(key: string, change: object = {}): void {
    for (const each of this.listeners) each({ key, ...change } as unknown as Change);
  }
}

type Process = (item: WorkItem<Cause>, signal: AbortSignal) => Promise<Verdict> | Verdict;

async function setup(
  process: Process = () => ({}),
  more: Partial<LoopDefinition> & { trigger?: object } = {},
) {
  const { trigger = {}, ...definition } = more;
  const clock = new VirtualClock();
  const primary = new FakeInformer();
  const runs: WorkItem<Cause>[] = [];
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    void lines.push({ level, message, fields: (fields ?? {}) as never });
  const log = { ...silentLogger, debug: say("debug"), warn: say("warn") } as Logger;
  const ended: unknown[][] = [];
  let startedRuns = 0;
  const loop = new Loop(
    {
      name: "test",
      watches: [
        {
          informer: primary as unknown as Informer,
          map: ({ key }) => [{ key, cause: { type: "object", kind: "Thing", key } as never, ...trigger }],
        } as LoopWatch,
      ],
      concurrency: 1,
      keys: () => ["a", "b"],
      process: async (item, signal) => {
        runs.push(item);
        return await process(item, signal);
      },
      ...definition,
    },
    {
      ...{ clock, random: { next: () => 1 } as never, log },
      observer: { started: () => void startedRuns++, ended: (...said) => void ended.push(said) },
    },
  );
  loop.listen();
  primary.sync();
  const settle = async () => await clock.advance(0);
  return { clock, primary, runs, lines, ended, loop, settle, started: () => startedRuns };
}

const causesOf = (item: WorkItem<Cause> | undefined) => item?.causes.map(({ type }) => type);

describe("a loop", () => {
  test("gathers keys from the start, and works once all that it looks at is complete", async () => {
    const clock = new VirtualClock();
    const [one, two] = [new FakeInformer(), new FakeInformer()];
    const runs: string[] = [];
    const watch = (informer: FakeInformer): LoopWatch => ({
      informer: informer as unknown as Informer,
      map: ({ key }) => [{ key, cause: { type: "resync" } }],
    });
    const definition = {
      ...{ name: "test", watches: [watch(one), watch(two)], concurrency: 2, keys: () => [] },
      process: async ({ key }: WorkItem<Cause>) => {
        runs.push(key);
        return {};
      },
    };
    const loop = new Loop(definition, { clock, random: { next: () => 1 } as never, log: silentLogger });
    loop.listen();
    expect([loop.name, loop.synced, loop.watches.length, loop.has("a")]).toEqual(["test", false, 2, false]);
    one.tell("a");
    const running = loop.run();
    one.sync();
    await clock.advance(0);
    expect([runs, loop.synced]).toEqual([[], false]);
    two.sync();
    await running;
    await clock.advance(0);
    expect([runs, loop.synced]).toEqual([["a"], true]);
  });

  test("follows what is added while it runs, and lets all of it go at its end", async () => {
    const added = new FakeInformer();
    let follow: ((watch: LoopWatch) => void) | undefined;
    const { loop, primary, runs, settle } = await setup(undefined, {
      onWatch: (given) => {
        follow = given;
      },
    });
    follow?.({
      informer: added as unknown as Informer,
      map: () => [{ key: "b", cause: { type: "resync" } }],
    });
    await loop.run();
    added.tell("x");
    await settle();
    expect(runs.map(({ key }) => key)).toEqual(["b"]);
    await loop.drain();
    expect([added.listeners.size, primary.listeners.size]).toEqual([0, 0]);
  });

  test("does not work after it was ended before it could begin", async () => {
    const { loop, primary, runs, settle } = await setup(undefined, { resyncMs: 1_000 });
    primary.tell("a");
    loop.abort();
    await loop.run();
    await settle();
    expect(runs).toEqual([]);
  });

  test("knows of an object when its definition does", async () => {
    const { loop } = await setup(undefined, { has: (key) => key === "a" });
    expect([loop.has("a"), loop.has("b")]).toEqual([true, false]);
  });

  test("begins to look outside when it works, wakes what is told of, and stops looking at its end", async () => {
    let wake: ((key: string, cause: Cause) => void) | undefined;
    let stopped = 0;
    const begin = (enqueue: typeof wake) => {
      wake = enqueue;
      return () => void stopped++;
    };
    const first = await setup(undefined, { begin: begin as never });
    expect(wake).toBeUndefined();
    await first.loop.run();
    wake?.("a", { type: "poll" } as never);
    await first.settle();
    expect(causesOf(first.runs[0])).toEqual(["poll"]);
    await first.loop.drain();
    expect(stopped).toBe(1);
    const second = await setup(undefined, { begin: begin as never });
    await second.loop.run();
    second.loop.abort();
    expect(stopped).toBe(2);
  });

  test("lets go of shared caches when it is told to", async () => {
    let released = 0;
    const { loop } = await setup(undefined, { release: () => void released++ });
    await loop.drain();
    expect(released).toBe(0);
    loop.release();
    expect(released).toBe(1);
  });

  test("ends when what is under way has ended, and aborts it when it is told to", async () => {
    const work = Promise.withResolvers<Verdict>();
    let signal: AbortSignal | undefined;
    const { loop, primary, settle } = await setup(async (_, given) => {
      signal = given;
      return await work.promise;
    });
    await loop.run();
    primary.tell("a");
    await settle();
    let drained = false;
    const ending = loop.drain().then(() => {
      drained = true;
    });
    await settle();
    expect([drained, signal?.aborted]).toEqual([false, false]);
    loop.abort();
    expect(signal?.reason).toMatchObject({ code: "Stopped" });
    work.resolve({});
    await ending;
    expect(drained).toBe(true);
  });
});

describe("triggers", () => {
  test("of the first list come behind what is new, unless they say otherwise", async () => {
    const order = async (trigger: object) => {
      const { loop, primary, runs, settle } = await setup(undefined, { trigger });
      primary.tell("old", { initial: true });
      primary.tell("new");
      await loop.run();
      await settle();
      return runs.map(({ key }) => key);
    };
    expect(await order({})).toEqual(["new", "old"]);
    expect(await order({ priority: "live" })).toEqual(["old", "new"]);
    expect(await order({ priority: "background" })).toEqual(["old", "new"]);
  });

  test("that are patient do not cut a backoff short, and others do", async () => {
    const runsAfter = async (patient: boolean) => {
      const { loop, primary, runs, settle, clock } = await setup(
        () => {
          throw new Error("it failed");
        },
        { trigger: { patient }, backoff: { firstMs: 10_000 } },
      );
      await loop.run();
      primary.tell("a");
      await settle();
      primary.tell("a");
      await settle();
      const soon = runs.length;
      await clock.advance(10_000);
      return [soon, causesOf(runs.at(-1))];
    };
    expect(await runsAfter(true)).toEqual([1, ["retry", "object"]]);
    expect((await runsAfter(false))[0]).toBe(2);
  });

  test("that a run has seen to come behind what is new", async () => {
    const { loop, primary, runs, settle } = await setup(undefined, { trigger: { seen: () => true } });
    primary.tell("a");
    loop.wake("b", { type: "resync" });
    await loop.run();
    await settle();
    expect(runs.map(({ key }) => key)).toEqual(["b", "a"]);
  });

  test("of the same kind and key are one cause", async () => {
    const { loop, runs, settle } = await setup();
    const cause = (type: string, kind: string, key: string) => ({ type, kind, key }) as never;
    loop.wake("x", cause("child", "A", "1"));
    loop.wake("x", cause("child", "A", "1"));
    loop.wake("x", cause("child", "A", "2"));
    loop.wake("x", cause("child", "B", "1"));
    loop.wake("x", cause("read", "A", "1"));
    await loop.run();
    await settle();
    expect(runs[0]?.causes).toEqual([
      cause("child", "A", "1"),
      cause("child", "A", "2"),
      cause("child", "B", "1"),
      cause("read", "A", "1"),
    ]);
  });
});

describe("a resync", () => {
  test("looks at everything each time, behind what is new", async () => {
    const { loop, runs, clock, settle } = await setup(undefined, { resyncMs: 60_000 });
    await loop.run();
    await settle();
    expect(runs).toEqual([]);
    await clock.advance(60_000);
    expect(runs.map((item) => [item.key, ...(causesOf(item) ?? [])])).toEqual([
      ["a", "resync"],
      ["b", "resync"],
    ]);
    await clock.advance(60_000);
    expect(runs).toHaveLength(4);
    await loop.drain();
    await clock.advance(600_000);
    expect(runs).toHaveLength(4);
  });

  test("never comes where none is asked for, and stands behind what is live", async () => {
    const { loop, runs, clock, settle } = await setup();
    await loop.run();
    await clock.advance(10_000_000);
    expect(runs).toEqual([]);
    const blocked = await setup();
    blocked.loop.resync();
    blocked.loop.wake("c", { type: "resync" });
    await blocked.loop.run();
    await blocked.settle();
    await settle();
    expect(blocked.runs.map(({ key }) => key)).toEqual(["c", "a", "b"]);
  });
});

describe("a run that ends", () => {
  const first = async (verdict: Verdict) => {
    const world = await setup(() => verdict);
    await world.loop.run();
    world.primary.tell("a");
    await world.settle();
    return world;
  };

  test.each<[string, Verdict, string]>([
    ["well", {}, "success"],
    ["with a wish to come back", { recheckMs: 5_000 }, "requeue_after"],
    ["for good", { result: "terminal" }, "terminal"],
    ["for good, with a wish to come back", { result: "terminal", recheckMs: 5_000 }, "terminal"],
  ])("%s is counted so", async (_, verdict, result) => {
    const { ended, started } = await first(verdict);
    expect([started(), ended]).toEqual([1, [[result, 0, undefined]]]);
  });

  test("with a wish to come back comes back then, because of the time", async () => {
    const { runs, clock } = await first({ recheckMs: 5_000 });
    await clock.advance(4_999);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    expect([runs.length, causesOf(runs[1])]).toEqual([2, ["timer"]]);
  });

  test("without one does not", async () => {
    const { runs, clock } = await first({});
    await clock.advance(10_000_000);
    expect(runs).toHaveLength(1);
  });

  test("took as long as it took", async () => {
    const clockBox: { clock?: VirtualClock } = {};
    const world = await setup(async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      clockBox.clock?.timer(1_500, resolve);
      await promise;
      return {};
    });
    clockBox.clock = world.clock;
    await world.loop.run();
    world.primary.tell("a");
    await world.clock.advance(1_500);
    expect(world.ended).toEqual([["success", 1.5, undefined]]);
  });
});

describe("a run that fails", () => {
  const error = new Error("it failed");
  const failing = async (process: Process, times = 1) => {
    const world = await setup(process);
    await world.loop.run();
    world.primary.tell("a");
    for (let n = 0; n < times; n++) await world.clock.advance(n === 0 ? 0 : 10_000);
    return world;
  };

  test.each<[string, Process]>([
    ["throws", () => Promise.reject(error)],
    ["says so itself", () => ({ failed: { error } })],
  ])("and %s is tried again later each time, and told of", async (_, process) => {
    const { runs, lines, ended, clock } = await failing(process);
    expect(ended).toEqual([["error", 0, error]]);
    expect(lines).toEqual([
      {
        level: "warn",
        message: "the reconcile failed and will be tried again",
        fields: { key: "a", failures: 1, retryInMs: 5, error },
      },
    ]);
    await clock.advance(4);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    expect([runs.length, runs[1]?.failures, causesOf(runs[1])]).toEqual([2, 1, ["retry"]]);
    expect(lines[1]?.fields).toMatchObject({ failures: 2, retryInMs: 10 });
  });

  test("begins again with its waits once a run has ended well", async () => {
    let bad = true;
    const { runs, lines, clock, primary } = await failing(() => {
      if (bad) throw error;
      return {};
    }, 3);
    expect(runs.length).toBeGreaterThan(5);
    bad = false;
    await clock.advance(1_000_000);
    lines.length = 0;
    bad = true;
    primary.tell("a");
    await clock.advance(0);
    expect(lines[0]?.fields).toMatchObject({ failures: 1, retryInMs: 5 });
  });

  test("waits at least as long as the server asked for", async () => {
    const { lines } = await failing(() =>
      Promise.reject(Object.assign(new Error("busy"), { retryAfterMs: 7_000 })),
    );
    expect(lines[0]?.fields).toMatchObject({ retryInMs: 7_000 });
    const nonsense = await failing(() =>
      Promise.reject(Object.assign(new Error("busy"), { retryAfterMs: "soon" })),
    );
    expect(nonsense.lines[0]?.fields).toMatchObject({ retryInMs: 5 });
    expect((await failing(() => Promise.reject(undefined))).lines[0]?.fields).toMatchObject({ retryInMs: 5 });
  });

  test("waits as its definition says, at first and at the longest", async () => {
    const waits = async (backoff: LoopDefinition["backoff"]) => {
      const { loop, clock, primary, lines } = await setup(() => Promise.reject(error), {
        ...(backoff && { backoff }),
      });
      await loop.run();
      primary.tell("a");
      await clock.advance(20_000);
      return lines.slice(0, 4).map(({ fields }) => fields["retryInMs"]);
    };
    expect(await waits({ firstMs: 1_000, longestMs: 3_000 })).toEqual([1_000, 2_000, 3_000, 3_000]);
    expect(await waits({ firstMs: 1_000 })).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(await waits({ longestMs: 10 })).toEqual([5, 10, 10, 10]);
    expect(await waits(undefined)).toEqual([5, 10, 20, 40]);
  });

  test("by losing a race is worth a line only when it loses again", async () => {
    const conflict = new ApiError({ code: 409, reason: "Conflict" } as never, { doing: "patch" } as never);
    const { lines, clock } = await failing(() => Promise.reject(conflict));
    await clock.advance(5);
    expect(lines.map(({ level }) => level)).toEqual(["debug", "warn"]);
  });

  test("while the operator stops is neither told of nor tried again", async () => {
    const { loop, lines, runs, clock, primary, settle } = await setup(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    await loop.run();
    primary.tell("a");
    await settle();
    loop.abort();
    await clock.advance(100_000);
    expect([lines, runs.length]).toEqual([[], 1]);
  });
});

describe("a key that comes again and again", () => {
  const busy = async () => await setup(() => ({ recheckMs: 0 }), { calms: true });

  test("may run a hundred times at once, and then four times a second", async () => {
    const { loop, runs, clock, primary, lines } = await busy();
    await loop.run();
    primary.tell("a");
    await clock.advance(0);
    expect(runs).toHaveLength(100);
    expect(lines).toEqual([
      {
        level: "warn",
        message: "ran 100 times in a row and is slowed down: what it writes seems to call it again",
        fields: { key: "a" },
      },
    ]);
    await clock.advance(10_000);
    expect(runs.length).toBeGreaterThanOrEqual(138);
    expect(runs.length).toBeLessThanOrEqual(142);
    expect(lines).toHaveLength(1);
  });

  test("earns its runs back by resting, and no more than a hundred", async () => {
    const { loop, runs, clock, primary } = await setup(() => ({}), { calms: true });
    await loop.run();
    const rush = async (times: number) => {
      const before = runs.length;
      for (let n = 0; n < times; n++) {
        primary.tell("a");
        await clock.advance(0);
      }
      return runs.length - before;
    };
    expect(await rush(120)).toBe(100);
    await clock.advance(1_000_000);
    expect(await rush(120)).toBe(100);
    await clock.advance(10 * 250);
    expect(await rush(120)).toBeLessThan(15);
  });

  test("is not slowed down where its definition does not ask for it", async () => {
    const { loop, runs, clock, primary } = await setup(() => ({}), {});
    await loop.run();
    for (let n = 0; n < 300; n++) {
      primary.tell("a");
      await clock.advance(0);
    }
    expect(runs).toHaveLength(300);
  });

  test("polls as often as it asks to, and may still rush", async () => {
    const { loop, runs, clock, primary, lines } = await setup(() => ({ recheckMs: 100 }), { calms: true });
    await loop.run();
    primary.tell("a");
    await clock.advance(60_000);
    expect(runs).toHaveLength(601);
    for (let n = 0; n < 90; n++) {
      primary.tell("a");
      await clock.advance(0);
    }
    expect(runs).toHaveLength(691);
    expect(lines).toEqual([]);
  });

  test("begins again when its object was gone", async () => {
    let gone = false;
    const { loop, runs, clock, primary } = await setup(() => ({ gone }), { calms: true });
    await loop.run();
    const rush = async (times: number) => {
      for (let n = 0; n < times; n++) {
        primary.tell("a");
        await clock.advance(0);
      }
    };
    await rush(90);
    gone = true;
    await rush(1);
    gone = false;
    await rush(50);
    expect(runs).toHaveLength(141);
  });
});

test("what is reported of a run says how it ended", async () => {
  const heard: Record<string, unknown>[] = [];
  const listener = (message: unknown) => void heard.push(message as never);
  subscribe(reconcileChannel, listener);
  try {
    const verdicts: (() => Verdict)[] = [
      () => ({}),
      () => ({ gone: true }),
      () => ({ outcome: waiting("Creating", "a pod starts"), recheckMs: 5_000 }),
      () => ({ outcome: fail("Bad", "no"), result: "terminal" }),
      () => {
        throw new Error("it failed");
      },
    ];
    const { loop, clock, primary } = await setup(() => (verdicts.shift() as () => Verdict)());
    await loop.run();
    for (let n = 0; n < 5; n++) {
      primary.tell(`k${n}`);
      await clock.advance(0);
    }
    expect(heard.map(({ controller, causes, durationMs, ...rest }) => rest)).toEqual([
      { key: "k0", outcome: "done" },
      { key: "k1", outcome: "gone" },
      { key: "k2", outcome: "waiting", reason: "Creating", message: "a pod starts", nextMs: 5_000 },
      { key: "k3", outcome: "failed", reason: "Bad", message: "no" },
      { key: "k4", outcome: "error", message: "it failed", nextMs: 5 },
    ]);
    expect(heard[0]).toMatchObject({ controller: "test", durationMs: 0, causes: [{ key: "k0" }] });
  } finally {
    unsubscribe(reconcileChannel, listener);
  }
});
