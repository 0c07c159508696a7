import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addInt,
  compareInt,
  divInt,
  type Int,
  intFromBigInt,
  intFromDecimal,
  intFromDouble,
  isInt64,
  modInt,
  mulInt,
  negInt,
  subInt,
  uintFromDecimal,
} from "./numbers.ts";

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

/** Integers of all sizes, the awkward ones around 2^53 and 2^63 more often than chance would have them. */
const int64 = fc.oneof(
  fc.bigInt({ min, max }),
  fc.integer().map(BigInt),
  fc
    .tuple(fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), max, min), fc.integer({ min: -3, max: 3 }))
    .map(([base, offset]) => base + BigInt(offset))
    .filter(isInt64),
);

function isNormal(value: Int): boolean {
  return typeof value === "number" ? Number.isSafeInteger(value) : intFromBigInt(value) === value;
}

function agrees(run: (a: Int, b: Int) => Int | undefined, exact: (a: bigint, b: bigint) => bigint) {
  return (a: bigint, b: bigint): void => {
    const got = run(intFromBigInt(a), intFromBigInt(b));
    const want = exact(a, b);
    if (!isInt64(want)) expect(got).toBeUndefined();
    else {
      expect(got).toBe(intFromBigInt(want));
      expect(isNormal(got as Int)).toBe(true);
      expect(Object.is(got, -0)).toBe(false);
    }
  };
}

describe("64-bit arithmetic agrees with exact arithmetic, or is undefined where that leaves 64 bits", () => {
  test("sum, difference, product", () => {
    fc.assert(
      fc.property(
        int64,
        int64,
        agrees(addInt, (a, b) => a + b),
      ),
    );
    fc.assert(
      fc.property(
        int64,
        int64,
        agrees(subInt, (a, b) => a - b),
      ),
    );
    fc.assert(
      fc.property(
        int64,
        int64,
        agrees(mulInt, (a, b) => a * b),
      ),
    );
  });

  test("quotient and remainder truncate towards zero", () => {
    const nonZero = int64.filter((value) => value !== 0n);
    fc.assert(
      fc.property(
        int64,
        nonZero,
        agrees(divInt, (a, b) => a / b),
      ),
    );
    const noOverflow = nonZero.filter((value) => value !== -1n);
    fc.assert(
      fc.property(
        int64,
        noOverflow,
        agrees(modInt, (a, b) => a % b),
      ),
    );
    expect(modInt(min, -1)).toBeUndefined();
  });

  test("negation and order", () => {
    fc.assert(
      fc.property(int64, (a) =>
        agrees(
          (x) => negInt(x),
          (x) => -x,
        )(a, 0n),
      ),
    );
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        expect(compareInt(intFromBigInt(a), intFromBigInt(b))).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });
});

test("decimal text gives back every integer and refuses what does not fit", () => {
  fc.assert(
    fc.property(int64, (a) => {
      expect(intFromDecimal(String(a))).toBe(intFromBigInt(a));
    }),
  );
  expect(intFromDecimal("9223372036854775808")).toBeUndefined();
  expect(intFromDecimal("+7")).toBe(7);
  expect(intFromDecimal("1e3")).toBeUndefined();
  expect(intFromDecimal(" 1")).toBeUndefined();
  expect(uintFromDecimal("18446744073709551615")).toBe(18446744073709551615n);
  expect(uintFromDecimal("-1")).toBeUndefined();
});

test("doubles become integers by truncation, within the open range of 64 bits", () => {
  expect(intFromDouble(-1.9)).toBe(-1);
  expect(intFromDouble(2 ** 60)).toBe(2n ** 60n);
  expect(intFromDouble(2 ** 63)).toBeUndefined();
  expect(intFromDouble(-(2 ** 63))).toBeUndefined();
  expect(intFromDouble(Number.NaN)).toBeUndefined();
});
