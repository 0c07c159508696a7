import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

test("users take turns, each in the order of what they added", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1", "b2"]) queue.add(item.slice(0, 1), item);
  expect(queue.sizeOf("a")).toBe(3);
  expect([queue.take(), queue.take()]).toEqual(["a1", "b1"]);
  queue.add("d", "d1");
  const rest = Array.from({ length: 6 }, () => queue.take());
  expect(rest).toEqual(["c1", "a2", "b2", "d1", "a3", undefined]);
  expect(queue.sizeOf("a")).toBe(0);
});
