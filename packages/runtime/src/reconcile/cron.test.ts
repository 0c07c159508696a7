import { CoreError } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { evaluateCron } from "./cron.ts";

const at = (text: string) => new Date(`2026-03-01T${text}Z`);

describe("a cron expression", () => {
  test("is not due before its first time, and says when that is", () => {
    const result = evaluateCron("0 * * * *", { since: at("10:05:00"), nowMs: at("10:59:59").getTime() });
    expect(result).toEqual({ missed: 0, next: at("11:00:00") });
  });

  test("is due at its newest time, and counts those that were missed before it", () => {
    const result = evaluateCron("0 * * * *", { since: at("10:05:00"), nowMs: at("13:10:00").getTime() });
    expect(result).toEqual({ due: at("13:00:00"), missed: 2, next: at("14:00:00") });
  });

  test("is not due again for the time that was last acted on", () => {
    const result = evaluateCron("0 * * * *", { since: at("13:00:00"), nowMs: at("13:10:00").getTime() });
    expect(result.due).toBeUndefined();
  });

  test("begins now after a time that is still to come", () => {
    const since = new Date("2027-01-01T00:00:00Z");
    const nowMs = Date.parse("2026-01-01T00:30:00Z");
    expect(evaluateCron("0 * * * *", { since, nowMs })).toEqual({
      missed: 0,
      next: new Date("2026-01-01T01:00:00Z"),
    });
  });

  test("follows its time zone, through a change of the clocks", () => {
    const since = new Date("2026-03-28T12:00:00Z");
    const result = evaluateCron("30 3 * * *", {
      since,
      timeZone: "Europe/Berlin",
      nowMs: new Date("2026-03-29T12:00:00Z").getTime(),
    });
    expect(result.due).toEqual(new Date("2026-03-29T01:30:00Z"));
  });

  test("finds its newest time also after an absence of years", () => {
    const since = new Date("2000-01-01T00:00:00Z");
    const result = evaluateCron("* * * * *", { since, nowMs: at("10:00:30").getTime() });
    expect(result.due).toEqual(at("10:00:00"));
    expect(result.next).toEqual(at("10:01:00"));
  });

  test("of fixed distances counts them from its beginning, also after an absence of years", () => {
    const since = new Date("1900-01-01T00:20:00Z");
    const result = evaluateCron("@every 1h", { since, nowMs: at("10:00:30").getTime() });
    expect(result.due).toEqual(at("09:20:00"));
    expect(result.next).toEqual(at("10:20:00"));
    expect(result.missed).toBe(9_999);
  });

  test("of many times on few days finds its newest also after an absence of years", () => {
    const since = new Date("1900-01-01T00:00:00Z");
    const result = evaluateCron("* 0 1 1 *", { since, nowMs: at("10:00:30").getTime() });
    expect(result.due).toEqual(new Date("2026-01-01T00:59:00Z"));
    expect(result.next).toEqual(new Date("2027-01-01T00:00:00Z"));
  });

  test.each(["every day", "0 0 * * 7", "60 * * * *"])("such as %j is refused", (expression) => {
    expect(() => evaluateCron(expression, { since: at("10:00:00"), nowMs: 0 })).toThrow(CoreError);
  });

  test("in an unknown time zone is refused", () => {
    const options = { since: at("10:00:00"), timeZone: "Atlantis/Capital", nowMs: 0 };
    expect(() => evaluateCron("0 * * * *", options)).toThrow("unknown time zone Atlantis/Capital");
  });
});
