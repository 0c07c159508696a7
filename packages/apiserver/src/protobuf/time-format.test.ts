import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from "./time-format.ts";

describe("times", () => {
  it("are written as Date writes them, where Date can", () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), (seconds) => {
        expect(formatTime(seconds)).toBe(new Date(seconds * 1000).toISOString().replace(".000Z", "Z"));
        expect(parseTime(formatTime(seconds))).toEqual({ seconds, nanos: 0 });
      }),
    );
  });

  it("keep microseconds and cut what is finer", () => {
    expect(formatMicroTime(0, 1_999)).toBe("1970-01-01T00:00:00.000001Z");
    expect(formatMicroTime(0, -1_000)).toBe("1969-12-31T23:59:59.999999Z");
    expect(parseTime("1970-01-01T01:00:00.000001+01:00")).toEqual({ seconds: 0, nanos: 1000 });
  });

  it("beyond any calendar are still text", () => {
    expect(formatTime(2 ** 63)).toMatch(/^\d{12}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it.each(["yesterday", "2020-01-01", "2020-13-01T00:00:00Z", "2020-01-01T00:00:00"])(
    "are not read from %s",
    (text) => {
      expect(parseTime(text)).toBeUndefined();
    },
  );
});

describe("durations", () => {
  it.each([
    [0, "0s"],
    [1, "1ns"],
    [1_100, "1.1µs"],
    [2_200_000, "2.2ms"],
    [3_300_000_000, "3.3s"],
    [245_000_000_000, "4m5s"],
    [245_001_000_000, "4m5.001s"],
    [18_367_001_000_000, "5h6m7.001s"],
    [480_000_000_001, "8m0.000000001s"],
    [-3_600_000_000_000, "-1h0m0s"],
  ])("%d ns is %s", (nanoseconds, text) => {
    expect(formatDuration(nanoseconds)).toBe(text);
    expect(parseDuration(text)).toBe(nanoseconds);
  });

  it("are read in Go's other spellings and in no others", () => {
    expect([parseDuration("90m"), parseDuration("1.5h"), parseDuration("0"), parseDuration(".5s")]).toEqual([
      5400e9, 5400e9, 0, 0.5e9,
    ]);
    expect(["", "5", "5 s", "1d", "s"].map(parseDuration)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
