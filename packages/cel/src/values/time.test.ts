import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addDuration,
  calendar,
  formatInSeconds,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  timeBetween,
  zoneOffset,
} from "./time.ts";
import { Duration, Fault, Timestamp } from "./values.ts";

function at(text: string): Timestamp {
  const time = parseTimestamp(text);
  if (!(time instanceof Timestamp)) throw new Error(`not a time: ${text}`);
  return time;
}

const moments = fc.record({
  seconds: fc.integer({ min: -62135596800, max: 253402300799 }),
  nanos: fc.integer({ min: 0, max: 999_999_999 }),
});

describe("timestamps", () => {
  test("agree with the platform's calendar", () => {
    fc.assert(
      fc.property(moments, ({ seconds, nanos }) => {
        const parts = calendar(new Timestamp(seconds, nanos), 0);
        const date = new Date(seconds * 1000);
        expect([parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second]).toEqual([
          date.getUTCFullYear(),
          date.getUTCMonth() + 1,
          date.getUTCDate(),
          date.getUTCHours(),
          date.getUTCMinutes(),
          date.getUTCSeconds(),
        ]);
        expect(parts.dayOfWeek).toBe(date.getUTCDay());
      }),
    );
  });

  test("read back what they print", () => {
    fc.assert(
      fc.property(moments, ({ seconds, nanos }) => {
        expect(parseTimestamp(formatTimestamp(new Timestamp(seconds, nanos)))).toEqual(
          new Timestamp(seconds, nanos),
        );
      }),
    );
  });

  test("keep the offset they were written with", () => {
    const time = at("2024-02-29T12:00:00.5+05:30");
    expect(formatTimestamp(time)).toBe("2024-02-29T12:00:00.5+05:30");
    expect(formatTimestamp(time, 0)).toBe("2024-02-29T06:30:00.5Z");
  });

  test("refuse what is no date, and fault outside the years 1 to 9999", () => {
    for (const text of [
      "2023-02-29T00:00:00Z",
      "2024-01-01",
      "2024-01-01T24:00:00Z",
      "2024-1-1T0:0:0Z",
      "2024-01-01T00:00:00+25:00",
      "2024-01-01T00:00:00+01:60",
      "",
    ]) {
      expect(parseTimestamp(text)).toBeUndefined();
    }
    expect(parseTimestamp("0000-01-01T00:00:00Z")).toBeInstanceOf(Fault);
    expect(addDuration(at("9999-12-31T23:59:59Z"), new Duration(1_000_000_000))).toBeInstanceOf(Fault);
  });

  test("know zones by name and by offset", () => {
    const summer = at("2024-07-01T00:00:00Z");
    expect(zoneOffset("Europe/Berlin", summer)).toBe(7200);
    expect(zoneOffset("-02:30", summer)).toBe(-9000);
    expect(zoneOffset("UTC", summer)).toBe(0);
    expect(zoneOffset("Nowhere/Town", summer)).toBeInstanceOf(Fault);
  });

  test("differ by what was added", () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: 0, max: 10 ** 15 }), ({ seconds, nanos }, by) => {
        const start = new Timestamp(seconds, nanos);
        const end = addDuration(start, new Duration(by));
        if (end instanceof Timestamp) expect(timeBetween(end, start)).toEqual(new Duration(by));
      }),
    );
  });
});

describe("durations", () => {
  test("read Go's notation", () => {
    expect(parseDuration("1h15m30.5s")).toEqual(new Duration(4530500000000));
    expect(parseDuration("-1.5h")).toEqual(new Duration(-5400000000000));
    expect(parseDuration("100us")).toEqual(new Duration(100000));
    expect(parseDuration("0")).toEqual(new Duration(0));
    for (const text of ["", "1", "h", ".s", "1d", "1 h", "9223372037s"]) {
      expect(parseDuration(text)).toBeUndefined();
    }
  });

  test("print as seconds", () => {
    expect(formatInSeconds(new Duration(4530500000000))).toBe("4530.5s");
    expect(formatInSeconds(new Duration(-1))).toBe("-0.000000001s");
    expect(formatInSeconds(new Duration(0))).toBe("0s");
  });
});
