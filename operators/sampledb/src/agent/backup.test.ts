import { expect, test } from "vitest";
import { compareLoaded } from "./backup.ts";

const checked = (keys: number, expires: number, expired: number) =>
  [
    "[offset 100] \\o/ RDB looks OK! \\o/",
    `[info] ${keys} keys read`,
    `[info] ${expires} expires`,
    `[info] ${expired} already expired`,
  ].join("\n");
const compare = (keys: number, text: string) => compareLoaded(text, { keys, version: "8.0.2" });

test("a server that loads fewer keys than the dump has is refused, also when it loads none", () => {
  const differ = "the dump has 10 keys, and Redis 8.0.2 loaded";
  for (const keys of [0, 9, 11]) expect(() => compare(keys, checked(10, 0, 0))).toThrow(`${differ} ${keys}`);
  expect(() => compare(10, checked(10, 0, 0))).not.toThrow();
});

test("only keys that expire may be missing", () => {
  expect(() => compare(10, checked(10, 4, 2))).not.toThrow();
  expect(() => compare(6, checked(10, 4, 2))).not.toThrow();
  expect(() => compare(5, checked(10, 4, 2))).toThrow("loaded 5");
  expect(() => compare(0, checked(0, 0, 0))).not.toThrow();
});

test("a dump that redis-check-rdb refuses is refused", () => {
  expect(() => compare(0, "--- RDB ERROR DETECTED ---")).toThrow("redis-check-rdb refuses the dump");
});
