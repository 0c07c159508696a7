import { parseSchedule } from "@keelson/core/internal";
import { describe, expect, it } from "vitest";
import { type CronJobObject, dueTime, nextLookMs } from "./due-time.ts";
import { jobNameAt, zonedTime } from "./job-from-template.ts";

const hourly = parseSchedule("0 * * * *");
const ms = (text: string) => Date.parse(text);

function cronJob(spec: Partial<CronJobObject["spec"]> = {}, lastScheduleTime?: string): CronJobObject {
  return {
    metadata: { name: "c", creationTimestamp: "2026-01-01T09:30:00Z" },
    spec: { schedule: "0 * * * *", ...spec },
    status: lastScheduleTime ? { lastScheduleTime } : {},
  } as CronJobObject;
}

describe("a cron job's start", () => {
  it("is not due before its time, and is looked for shortly after it", () => {
    const now = ms("2026-01-01T09:45:00Z");
    expect(dueTime(cronJob(), hourly, now, { withinDeadline: true }).atMs).toBeUndefined();
    expect(nextLookMs(cronJob(), hourly, now)).toBe(15 * 60_000 + 100);
  });

  it("is the newest of those that were missed, and they are few or many", () => {
    const few = dueTime(cronJob(), hourly, ms("2026-01-01T13:10:00Z"), { withinDeadline: true });
    expect(few).toMatchObject({ atMs: ms("2026-01-01T13:00:00Z"), missed: "few" });
    const many = dueTime(cronJob(), hourly, ms("2026-01-09T13:10:00Z"), { withinDeadline: true });
    expect(many).toMatchObject({ atMs: ms("2026-01-09T13:00:00Z"), missed: "many" });
  });

  it("counts missed ones within the deadline only", () => {
    const now = ms("2026-01-09T13:00:10Z");
    const due = dueTime(cronJob({ startingDeadlineSeconds: 60 }), hourly, now, { withinDeadline: true });
    expect(due).toMatchObject({ atMs: ms("2026-01-09T13:00:00Z"), missed: "none" });
    const late = ms("2026-01-09T13:10:00Z");
    expect(
      dueTime(cronJob({ startingDeadlineSeconds: 60 }), hourly, late, { withinDeadline: true }).atMs,
    ).toBeUndefined();
  });

  it("does not come twice", () => {
    const now = ms("2026-01-01T13:10:00Z");
    const done = cronJob({}, "2026-01-01T13:00:00Z");
    expect(dueTime(done, hourly, now, { withinDeadline: true }).atMs).toBeUndefined();
    expect(nextLookMs(done, hourly, now)).toBe(50 * 60_000 + 100);
  });

  it("never is, and that is an error, when the schedule never comes", () => {
    const never = parseSchedule("0 0 30 2 *");
    expect(() => dueTime(cronJob(), never, ms("2026-01-01T13:10:00Z"), { withinDeadline: true })).toThrow(
      "time difference between two schedules is less than 1 second",
    );
  });

  it("names its job by the minute, and notes its time as the zone shows it", () => {
    const at = ms("2026-07-01T08:00:00Z");
    expect(jobNameAt(cronJob(), at)).toBe(`c-${at / 60_000}`);
    expect(zonedTime(at, "Europe/Berlin")).toBe("2026-07-01T10:00:00+02:00");
    expect(zonedTime(at, "America/St_Johns")).toBe("2026-07-01T05:30:00-02:30");
    expect(zonedTime(at)).toBe("2026-07-01T08:00:00Z");
  });
});
