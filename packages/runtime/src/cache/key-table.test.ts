import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyTable } from "./key-table.ts";

describe("a key table", () => {
  test("finds what a map finds, whatever comes and goes", () => {
    const key = fc.oneof(
      // Few keys, so that they come back; and keys of every kind.
      fc.nat(300).map((number) => `team-${number % 7}/item-${number}`),
      fc.string({ unit: "grapheme" }),
    );
    const step = fc.record({ key, keep: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 1_500 }), (steps) => {
        const table = new KeyTable<{ key: string }>();
        const map = new Map<string, { key: string }>();
        for (const { key, keep } of steps) {
          expect(table.get(key)).toBe(map.get(key));
          if (keep && !map.has(key)) {
            const value = { key };
            map.set(key, value);
            table.add(value);
          } else if (!keep) {
            map.delete(key);
            table.delete(key);
          }
          expect(table.size).toBe(map.size);
        }
        expect(new Set(table)).toEqual(new Set(map.values()));
        for (const [key, value] of map) expect(table.get(key)).toBe(value);
      }),
      { numRuns: 100 },
    );
  });

  test("does not wear out when one key after another comes and goes", () => {
    const table = new KeyTable<{ key: string }>();
    for (let number = 0; number < 10_000; number++) {
      table.add({ key: `item-${number}` });
      if (number >= 10) table.delete(`item-${number - 10}`);
    }
    expect([...table].map(({ key }) => key).sort()).toEqual(
      Array.from({ length: 10 }, (_, index) => `item-${9_990 + index}`),
    );
  });

  test("lets values go while they are iterated over", () => {
    const table = new KeyTable<{ key: string }>();
    for (let number = 0; number < 100; number++) table.add({ key: String(number) });
    const seen: string[] = [];
    for (const { key } of table) {
      seen.push(key);
      table.delete(key);
      table.delete(String(Number(key) + 1));
    }
    expect(seen.length).toBe(50);
    expect(table.size).toBe(0);
  });
});
