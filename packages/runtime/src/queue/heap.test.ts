import fc from "fast-check";
import { expect, test } from "vitest";
import { Heap } from "./heap.ts";

test("gives back the smallest, in any order of calls", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(50)), { maxLength: 60 }), (calls) => {
      const heap = new Heap<number>((a, b) => a < b);
      const model: number[] = [];
      for (const value of calls) {
        if (value === null) {
          expect(heap.pop()).toBe(model.shift());
        } else {
          heap.push(value);
          model.push(value);
          model.sort((a, b) => a - b);
        }
        expect(heap.peek()).toBe(model[0]);
        expect(heap.size).toBe(model.length);
      }
      while (model.length > 0) expect(heap.pop()).toBe(model.shift());
      expect(heap.pop()).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

test("asks no more about the order than a heap has to", () => {
  let asked = 0;
  const heap = new Heap<number>((a, b) => {
    asked++;
    return a < b;
  });
  for (let n = 0; n < 1_000; n++) heap.push(n);
  expect(asked).toBeLessThan(1_000);
  asked = 0;
  while (heap.size > 0) heap.pop();
  expect(asked).toBeLessThan(20_000);
});
