/** The parts of a timestamp or duration: `getHours()` and its kin. */

import { type FunctionDecl, member, type Overload } from "../check/functions.ts";
import { noSuchOverload } from "../values/compare.ts";
import { type Int, intFromBigInt } from "../values/numbers.ts";
import { type Calendar, calendar, zoneOffset } from "../values/time.ts";
import { types } from "../values/types.ts";
import { type CelValue, Duration, Fault, Timestamp } from "../values/values.ts";

const { duration, int, string, timestamp } = types;

type Part = (at: Calendar, time: Timestamp) => number;

function partOf(part: Part) {
  return (args: readonly CelValue[]): CelValue => {
    const [time, zone] = args;
    if (!(time instanceof Timestamp)) return noSuchOverload;
    if (zone === undefined) return part(calendar(time, 0), time);
    if (typeof zone !== "string") return noSuchOverload;
    const offset = zoneOffset(zone, time);
    return offset instanceof Fault ? offset : part(calendar(time, offset), time);
  };
}

function unitsOf(nanosPerUnit: bigint) {
  return ([value]: readonly CelValue[]): CelValue => {
    if (!(value instanceof Duration)) return noSuchOverload;
    const units: Int = intFromBigInt(BigInt(value.nanos) / nanosPerUnit);
    return units;
  };
}

function accessor(
  name: string,
  id: string,
  part: Part,
  zoneId: string,
  extra: Overload[] = [],
): FunctionDecl {
  const run = partOf(part);
  return {
    name,
    overloads: [member(id, [timestamp], int, run), member(zoneId, [timestamp, string], int, run), ...extra],
  };
}

export const timeFunctions: readonly FunctionDecl[] = [
  accessor("getFullYear", "timestamp_to_year", (at) => at.year, "timestamp_to_year_with_tz"),
  accessor("getMonth", "timestamp_to_month", (at) => at.month - 1, "timestamp_to_month_with_tz"),
  accessor(
    "getDayOfYear",
    "timestamp_to_day_of_year",
    (at) => at.dayOfYear,
    "timestamp_to_day_of_year_with_tz",
  ),
  accessor(
    "getDayOfMonth",
    "timestamp_to_day_of_month",
    (at) => at.day - 1,
    "timestamp_to_day_of_month_with_tz",
  ),
  accessor(
    "getDate",
    "timestamp_to_day_of_month_1_based",
    (at) => at.day,
    "timestamp_to_day_of_month_1_based_with_tz",
  ),
  accessor(
    "getDayOfWeek",
    "timestamp_to_day_of_week",
    (at) => at.dayOfWeek,
    "timestamp_to_day_of_week_with_tz",
  ),
  accessor("getHours", "timestamp_to_hours", (at) => at.hour, "timestamp_to_hours_with_tz", [
    member("duration_to_hours", [duration], int, unitsOf(3_600_000_000_000n)),
  ]),
  accessor("getMinutes", "timestamp_to_minutes", (at) => at.minute, "timestamp_to_minutes_with_tz", [
    member("duration_to_minutes", [duration], int, unitsOf(60_000_000_000n)),
  ]),
  accessor("getSeconds", "timestamp_to_seconds", (at) => at.second, "timestamp_to_seconds_tz", [
    member("duration_to_seconds", [duration], int, unitsOf(1_000_000_000n)),
  ]),
  accessor(
    "getMilliseconds",
    "timestamp_to_milliseconds",
    (_at, time) => Math.trunc(time.nanos / 1_000_000),
    "timestamp_to_milliseconds_with_tz",
    [member("duration_to_milliseconds", [duration], int, unitsOf(1_000_000n))],
  ),
];
