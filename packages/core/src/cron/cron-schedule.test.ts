import { describe, expect, it } from "vitest";
import { parseSchedule } from "./cron-schedule.ts";

/** Four due times after each other, as the parser of Kubernetes (robfig/cron v3.0.1) gives them. */
const known: readonly [zone: string, schedule: string, after: string, due: string][] = [
  ["America/New_York", "30 2 11 3 *", "2012-03-11T05:00:00Z", "2013-03-11T06:30:00Z 2014-03-11T06:30:00Z"],
  ["America/New_York", "30 2 * * *", "2012-03-11T05:00:00Z", "2012-03-12T06:30:00Z 2012-03-13T06:30:00Z"],
  ["America/New_York", "30 1 * * *", "2012-11-04T04:30:00Z", "2012-11-04T05:30:00Z 2012-11-04T06:30:00Z"],
  ["America/New_York", "0 * * * *", "2012-11-04T04:30:00Z", "2012-11-04T05:00:00Z 2012-11-04T06:00:00Z"],
  ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T10:00:00Z", "2026-10-04T15:15:00Z 2026-10-05T15:15:00Z"],
  ["America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z 2018-11-06T02:00:00Z"],
  ["Europe/Berlin", "0 0 31 2,4,12 5", "2026-01-01T00:00:00Z", "2026-02-05T23:00:00Z 2026-02-12T23:00:00Z"],
  ["UTC", "0 0 13 * 5", "2026-01-08T00:00:00Z", "2026-01-09T00:00:00Z 2026-01-13T00:00:00Z"],
  [
    "UTC",
    "*/20 9-17/4 ? jan-mar mon,wed",
    "2026-03-02T09:30:00Z",
    "2026-03-02T09:40:00Z 2026-03-02T13:00:00Z",
  ],
  ["UTC", "5/25 * * * *", "2026-02-27T00:30:00Z", "2026-02-27T00:55:00Z 2026-02-27T01:05:00Z"],
];

function dueAfter(schedule: string, zone: string | undefined, after: string): string {
  const parsed = parseSchedule(schedule, zone);
  const first = parsed.next(Date.parse(after)) ?? Number.NaN;
  const second = parsed.next(first) ?? Number.NaN;
  return [first, second].map((each) => new Date(each).toISOString().replace(".000", "")).join(" ");
}

describe("a cron schedule", () => {
  it.each(known)("in %s %s after %s", (zone, schedule, after, due) => {
    expect(dueAfter(schedule, zone, after)).toBe(due);
    expect(dueAfter(`TZ=${zone} ${schedule}`, undefined, after)).toBe(due);
  });

  it("may have a name, or a distance", () => {
    expect(dueAfter("@monthly", undefined, "2026-01-01T00:00:00Z")).toBe(
      "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z",
    );
    expect(dueAfter("@every 1h30m", undefined, "2026-01-01T00:00:00.700Z")).toBe(
      "2026-01-01T01:30:00Z 2026-01-01T03:00:00Z",
    );
  });

  it("that never comes has no next time", () => {
    expect(parseSchedule("0 0 31 2 *").next(0)).toBeUndefined();
  });

  it("passes over a day that an island left out", () => {
    const next = parseSchedule("* 8,11 * * */7", "Pacific/Apia").next(1_325_056_625_953) ?? 0;
    expect(new Date(next).toISOString()).toBe("2011-12-31T18:00:00.000Z");
  });

  it("refuses what the API server would not admit", () => {
    expect(() => parseSchedule("0 0 * * 7")).toThrow("end of range (7) above maximum (6): 7");
  });
});
