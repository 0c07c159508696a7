import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from "./time.ts";

const moment = Date.UTC(2026, 0, 31, 12, 0, 0, 123);

describe("times", () => {
  test("a time has seconds, a micro time exactly six digits", () => {
    expect(formatTime(moment)).toBe("2026-01-31T12:00:00Z");
    expect(formatMicroTime(moment)).toBe("2026-01-31T12:00:00.123000Z");
    expect(formatMicroTime(moment + 0.456)).toBe("2026-01-31T12:00:00.123456Z");
  });

  test("parsing reads zones and fractions", () => {
    expect(parseTime("2026-01-31T12:00:00Z")).toBe(Date.UTC(2026, 0, 31, 12));
    expect(parseTime("2026-01-31T13:00:00+01:00")).toBe(Date.UTC(2026, 0, 31, 12));
    expect(parseTime("2026-01-31T12:00:00.123456Z")).toBeCloseTo(moment + 0.456, 6);
  });

  test.each([
    "",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "yesterday",
  ])("%j is not a time", (text) =>
    expect(() => parseTime(text)).toThrow(expect.objectContaining({ code: "InvalidTime" })),
  );

  test("what is printed reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
        expect(parseTime(formatTime(ms))).toBe(Math.floor(ms / 1000) * 1000);
        expect(parseTime(formatMicroTime(ms))).toBe(ms);
      }),
    );
  });
});

describe("durations", () => {
  test.each([
    ["0", 0, "0s"],
    ["0s", 0, "0s"],
    ["1h2m3s", 3723_000, "1h2m3s"],
    ["90m", 5400_000, "1h30m0s"],
    ["1.5s", 1500, "1.5s"],
    ["300ms", 300, "300ms"],
    ["1.5ms", 1.5, "1.5ms"],
    ["2us", 0.002, "2µs"],
    ["7ns", 0.000007, "7ns"],
    ["-1m30s", -90_000, "-1m30s"],
    ["+5s", 5000, "5s"],
    [".5h", 1800_000, "30m0s"],
  ])("%s is %d ms and prints as %s", (text, ms, printed) => {
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
    expect(formatDuration(parseDuration(text))).toBe(printed);
  });

  test.each(["", "-", "5", "1d", "1h 2m", "s", "1.s5"])("%j is not a duration", (text) => {
    expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: "InvalidDuration" }));
  });

  test("what is printed reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e10, max: 1e10 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBeCloseTo(ms, 3);
      }),
    );
  });
});
