import { describe, expect, it } from "vitest";
import { backupStamp, type Calendar, decideSchedule, type ScheduleState } from "./schedule.ts";

const state: ScheduleState = {
  schedule: "0 2 * * *",
  timeZone: "UTC",
  suspend: false,
  createdAt: "2026-01-01T00:00:00Z",
  lastScheduled: undefined,
  running: false,
};
const due = new Date("2026-01-05T02:00:00Z");
const next = new Date("2026-01-06T02:00:00Z");
const late: Calendar = () => ({ due, missed: 3, next });
const early: Calendar = () => ({ missed: 0, next });

describe("a schedule", () => {
  it("catches up missed times with one backup", () => {
    const lastScheduled = due.toISOString();
    expect(decideSchedule(state, late)).toEqual({ do: "take", at: due, lastScheduled, next });
  });

  it("waits for the next time", () => {
    const lastScheduled = "2026-01-04T02:00:00Z";
    expect(decideSchedule({ ...state, lastScheduled }, early)).toEqual({ do: "wait", lastScheduled, next });
  });

  it("takes a due backup after the running one, and not beside it", () => {
    expect(decideSchedule({ ...state, running: true }, late)).toEqual({
      do: "wait",
      lastScheduled: undefined,
      next,
    });
  });

  it("does not catch up what fell due while it was suspended", () => {
    const lastScheduled = due.toISOString();
    expect(decideSchedule({ ...state, suspend: true }, late)).toEqual({ do: "wait", lastScheduled, next });
  });

  it("counts from the last backup, and from its own creation before the first", () => {
    const since: string[] = [];
    const calendar: Calendar = (_, options) => {
      since.push(options.since.toISOString());
      return { missed: 0, next };
    };
    decideSchedule(state, calendar);
    decideSchedule({ ...state, lastScheduled: due.toISOString() }, calendar);
    expect(since).toEqual(["2026-01-01T00:00:00.000Z", "2026-01-05T02:00:00.000Z"]);
  });

  it("skips nothing after a clock that was ahead", () => {
    const calendar: Calendar = (_, { since }) =>
      since.toISOString() < due.toISOString() ? { due, missed: 3, next } : { missed: 0, next };
    expect(decideSchedule({ ...state, lastScheduled: "2027-01-05T02:00:00Z" }, calendar)).toEqual({
      do: "wait",
      lastScheduled: due.toISOString(),
      next,
    });
  });

  it("is invalid when its expression cannot be read", () => {
    const calendar: Calendar = () => {
      throw new TypeError("five fields, please");
    };
    expect(decideSchedule(state, calendar)).toEqual({
      do: "invalid",
      message: '"0 2 * * *" in UTC is not a schedule: five fields, please',
    });
  });

  it("names a backup after its due time", () => {
    expect(backupStamp(due)).toBe("20260105020000");
  });
});
