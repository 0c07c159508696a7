import type { Stored } from "@keelson/core";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import { expect, test } from "vitest";
import type { Informer } from "../cache/informer.ts";
import type { PollRead } from "../controller/declaration.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import { Pollers } from "./pollers.ts";

const object = { metadata: { name: "a", namespace: "default", generation: 1 } } as Stored;

function started(look: PollRead<Stored>["look"]) {
  const said: [message: string, fields?: object][] = [];
  const log: Logger = { ...silentLogger, warn: (...line) => void said.push(line) };
  const cache = new Map([["default/a", object]]);
  const clock = new VirtualClock();
  const pollers = new Pollers({
    primary: { cache, onChange: () => () => {} } as unknown as Informer,
    polls: new Map([["price", { everyMs: 60_000, look } as PollRead<Stored>]]),
    ...{ clock, random: new SeededRandom(1), log },
  });
  const woken: string[] = [];
  const stop = pollers.start((key) => void woken.push(key));
  return { pollers, clock, said, woken, stop };
}

test("a poll that fails is logged with its object, and tried again", async () => {
  const closed = new Error("the shop is closed");
  let failures = 1;
  const { pollers, clock, said, woken, stop } = started(async () => {
    if (failures-- > 0) throw closed;
    return 7;
  });
  await clock.advance(1_000);
  expect(said).toEqual([
    ["a poll failed and is tried again", { poll: "price", key: "default/a", error: closed }],
  ]);
  expect(woken).toEqual([]);
  await clock.advance(63_000);
  expect(pollers.value("price", "default/a")).toBe(7);
  expect(woken).toEqual(["default/a"]);
  expect(said).toHaveLength(1);
  stop();
});

test("a poll that fails because the process ends is not logged", async () => {
  const { clock, said, stop } = started(
    async (_, { signal }) =>
      await new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("aborted"))),
      ),
  );
  await clock.advance(1_000);
  stop();
  await clock.advance(1_000);
  expect(said).toEqual([]);
});

/** Polls over a cache whose objects change. */
function watching(look: PollRead<Stored>["look"], names: readonly string[] = ["a"]) {
  const make = (name: string, generation: number) =>
    ({ metadata: { name, namespace: "default", generation } }) as Stored;
  const cache = new Map(names.map((name) => [`default/${name}`, make(name, 1)]));
  const listeners = new Set<(change: { type: string; key: string }) => void>();
  const clock = new VirtualClock();
  const woken: object[] = [];
  const pollers = new Pollers({
    primary: {
      cache,
      onChange: (listener: (change: object) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    } as unknown as Informer,
    polls: new Map([["price", { everyMs: 60_000, look } as PollRead<Stored>]]),
    ...{ clock, random: { next: () => 0.5 } as never, log: silentLogger },
  });
  const stop = pollers.start((key, cause) => void woken.push({ key, ...cause }));
  const change = (name: string, generation: number | undefined) => {
    const key = `default/${name}`;
    if (generation === undefined) cache.delete(key);
    else cache.set(key, make(name, generation));
    for (const each of listeners) each({ type: generation === undefined ? "deleted" : "modified", key });
  };
  return { pollers, clock, woken, stop, change, listeners };
}

test("an object is woken when what is seen changes, and not otherwise", async () => {
  let seen: unknown = { n: 1 };
  let looks = 0;
  const { pollers, clock, woken } = watching(async () => {
    looks++;
    return structuredClone(seen) as never;
  });
  await clock.advance(0);
  expect(pollers.value("price", "default/a")).toEqual({ n: 1 });
  await clock.advance(60_000);
  expect(looks).toBe(2);
  expect(woken).toEqual([{ key: "default/a", type: "poll", kind: "price" }]);
  seen = { n: 2 };
  await clock.advance(59_999);
  expect(woken).toHaveLength(1);
  await clock.advance(1);
  expect(woken).toHaveLength(2);
  expect(pollers.value("price", "default/a")).toEqual({ n: 2 });
});

test("an object is looked at when it appears and when its spec changes, and no more when it is gone", async () => {
  const looked: string[] = [];
  const { pollers, clock, change, woken } = watching(async ({ metadata }) => {
    looked.push(`${metadata.name}@${metadata.generation}`);
    return looked.length;
  });
  await clock.advance(0);
  change("b", 1);
  change("b", 1);
  await clock.advance(0);
  change("b", 2);
  await clock.advance(0);
  expect(looked).toEqual(["a@1", "b@1", "b@2"]);
  change("b", undefined);
  expect(pollers.value("price", "default/b")).toBeUndefined();
  await clock.advance(60_000);
  expect(looked).toEqual(["a@1", "b@1", "b@2", "a@1"]);
  expect(woken).toHaveLength(4);
});

test("a change while a look is under way is looked at right after it, and once", async () => {
  const waits: (() => void)[] = [];
  let looks = 0;
  const { clock, change } = watching(async () => {
    looks++;
    await new Promise<void>((resolve) => waits.push(resolve));
    return 1;
  });
  await clock.advance(0);
  change("a", 2);
  change("a", 3);
  expect(looks).toBe(1);
  waits.shift()?.();
  await clock.advance(0);
  expect(looks).toBe(2);
  waits.shift()?.();
  await clock.advance(59_000);
  expect(looks).toBe(2);
  await clock.advance(1_000);
  expect(looks).toBe(3);
});

test("what a look sees of an object that has gone meanwhile is nobody's", async () => {
  const waits: (() => void)[] = [];
  const { pollers, clock, change, woken } = watching(async () => {
    await new Promise<void>((resolve) => waits.push(resolve));
    return 1;
  });
  await clock.advance(0);
  change("a", undefined);
  waits.shift()?.();
  await clock.advance(120_000);
  expect([woken, pollers.value("price", "default/a"), waits.length]).toEqual([[], undefined, 0]);
});

test("at most 16 looks are made at once, and the others follow", async () => {
  const waits: (() => void)[] = [];
  const names = Array.from({ length: 20 }, (_, each) => `n${each}`);
  const { clock, woken } = watching(async () => {
    await new Promise<void>((resolve) => waits.push(resolve));
    return 1;
  }, names);
  await clock.advance(0);
  expect(waits).toHaveLength(16);
  for (const each of waits.splice(0, 3)) each();
  await clock.advance(0);
  expect(waits).toHaveLength(16);
  for (const each of waits.splice(0)) each();
  await clock.advance(0);
  expect(waits).toHaveLength(1);
  for (const each of waits.splice(0)) each();
  await clock.advance(0);
  expect(woken).toHaveLength(20);
});

test("after the end nothing is looked at any more, and nobody is woken", async () => {
  const waits: (() => void)[] = [];
  let looks = 0;
  const { clock, change, stop, woken, listeners } = watching(async () => {
    looks++;
    await new Promise<void>((resolve) => waits.push(resolve));
    return looks;
  }, ["a", "b"]);
  await clock.advance(0);
  waits.shift()?.();
  await clock.advance(0);
  stop();
  waits.shift()?.();
  await clock.advance(300_000);
  change("a", 2);
  expect([looks, woken.length, listeners.size]).toEqual([2, 1, 0]);
});

test("polls are spread by a twentieth around their time", async () => {
  const { clock, looks } = (() => {
    const seen: number[] = [];
    const { clock } = watching(async () => seen.push(clock.monotonic()));
    return { clock, looks: seen };
  })();
  await clock.advance(60_000);
  expect(looks.map((each) => each - (looks[0] ?? 0))).toEqual([0, 60_000]);
});

test("an object that goes while its look waits for a place is not looked at", async () => {
  const waits: (() => void)[] = [];
  const seen: unknown[] = [];
  const names = Array.from({ length: 17 }, (_, each) => `n${each}`);
  const { clock, change } = watching(async (object) => {
    seen.push(object);
    await new Promise<void>((resolve) => waits.push(resolve));
    return 1;
  }, names);
  await clock.advance(0);
  change("n16", undefined);
  for (const each of waits.splice(0)) each();
  await clock.advance(0);
  expect(seen).toHaveLength(16);
});

test("nothing is left to wait for of objects that are gone, nor after the end", async () => {
  const waits: (() => void)[] = [];
  const { clock, change, stop } = watching(async () => {
    await new Promise<void>((resolve) => waits.push(resolve));
    return 1;
  }, ["a", "b"]);
  await clock.advance(0);
  change("a", undefined);
  waits.shift()?.();
  await clock.advance(0);
  expect(clock.pending).toBe(0);
  stop();
  waits.shift()?.();
  await clock.advance(0);
  expect(clock.pending).toBe(0);
});
