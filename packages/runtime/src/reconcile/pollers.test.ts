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
