import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatGoDuration, parseGoDuration } from "./go-duration.ts";

const known: readonly [text: string, nanos: bigint][] = [
  ["0s", 0n],
  ["1ns", 1n],
  ["1.5µs", 1_500n],
  ["2ms", 2_000_000n],
  ["1.5s", 1_500_000_000n],
  ["1m0s", 60_000_000_000n],
  ["1h0m0.000000001s", 3_600_000_000_001n],
  ["-1h30m0s", -5_400_000_000_000n],
  ["2562047h47m16.854775807s", 2n ** 63n - 1n],
  ["-2562047h47m16.854775808s", -(2n ** 63n)],
];

describe("a Go duration", () => {
  test.each(known)("%s is printed and read", (text, nanos) => {
    expect(formatGoDuration(nanos)).toBe(text);
    expect(parseGoDuration(text)).toBe(nanos);
  });

  test.each([
    ["0", 0n],
    ["+5s", 5_000_000_000n],
    [".5s", 500_000_000n],
    ["1.s", 1_000_000_000n],
    ["1us", 1_000n],
    ["1\u03bcs", 1_000n],
    ["1.0000000019s", 1_000_000_001n],
    ["1h1h", 7_200_000_000_000n],
  ])("%s is read", (text, nanos) => {
    expect(parseGoDuration(text)).toBe(nanos);
  });

  test.each(["", "-", "5", "s", ".s", "1d", "1 s", "1h 2m", "1sx", "2562048h", "toString"])(
    "%j is none",
    (text) => {
      expect(parseGoDuration(text)).toBeUndefined();
    },
  );

  test("is read as it was printed", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanos) => {
        expect(parseGoDuration(formatGoDuration(nanos))).toBe(nanos);
      }),
    );
  });
});
