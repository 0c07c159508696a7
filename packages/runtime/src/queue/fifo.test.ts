import { expect, test } from "vitest";
import { Fifo } from "./fifo.ts";

test("gives back in order what was put in, however much comes and goes", () => {
  const fifo = new Fifo<number>();
  expect([fifo.size, fifo.peek(), fifo.shift()]).toEqual([0, undefined, undefined]);
  let [put, taken] = [0, 0];
  // More comes than goes, then all goes: the beginning is let go several times on the way.
  for (let round = 0; round < 5_000; round++) {
    fifo.push(put++);
    if (round % 3 === 0) fifo.push(put++);
    expect(fifo.peek()).toBe(taken);
    expect(fifo.shift()).toBe(taken++);
    expect(fifo.size).toBe(put - taken);
  }
  while (fifo.size > 0) expect(fifo.shift()).toBe(taken++);
  expect(taken).toBe(put);
  expect(fifo.shift()).toBeUndefined();
  fifo.push(7);
  expect([fifo.size, fifo.shift(), fifo.size]).toEqual([1, 7, 0]);
});
