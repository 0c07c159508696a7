import { expect, test } from "vitest";
import { endsInMs, type StoredHistory, turned, validDigests } from "./password-history.ts";

const at = (seconds: number) => ({ nowMs: seconds * 1_000, overlapMs: 600_000 });

function rotated(steps: readonly (readonly [digest: string, seconds: number])[]) {
  let history: StoredHistory | undefined;
  for (const [digest, seconds] of steps) history = turned(history, digest, at(seconds));
  return validDigests(turned(history, steps.at(-1)?.[0] ?? "", at(steps.at(-1)?.[1] ?? 0)));
}

test("two rotations in a row leave every password valid for its own time", () => {
  expect(
    rotated([
      ["a", 0],
      ["b", 100],
      ["c", 200],
    ]),
  ).toEqual(["c", "b", "a"]);
  expect(
    rotated([
      ["a", 0],
      ["b", 100],
      ["c", 200],
      ["c", 701],
    ]),
  ).toEqual(["c", "b"]);
  expect(
    rotated([
      ["a", 0],
      ["b", 100],
      ["c", 200],
      ["c", 801],
    ]),
  ).toEqual(["c"]);
});

test("a password that comes back counts as the current one", () => {
  expect(
    rotated([
      ["a", 0],
      ["b", 100],
      ["a", 200],
    ]),
  ).toEqual(["a", "b"]);
});

test("what earlier releases stored is read", () => {
  const stored = { current: "b", previous: "a", since: new Date(100_000).toISOString() };
  const history = turned(stored, "b", at(200));
  expect(validDigests(history)).toEqual(["b", "a"]);
  expect(endsInMs(history, at(200))).toBe(500_000);
  expect(validDigests(turned(stored, "b", at(700)))).toEqual(["b"]);
  expect(endsInMs(turned({ current: "b" }, "b", at(0)), at(0))).toBeUndefined();
});

test("no more than eight earlier passwords are kept", () => {
  const steps = Array.from({ length: 20 }, (_, index) => [`p${index}`, index] as const);
  expect(rotated(steps)).toHaveLength(9);
});
