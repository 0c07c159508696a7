/** Timestamps and durations: their text, their arithmetic, their calendar. */
import { addInt, type Int, intFromBigInt, isInt64, negInt, subInt } from "./numbers.ts";
import { Duration, type Fault, fault, Timestamp } from "./values.ts";

const minSeconds = -62135596800;
const maxSeconds = 253402300799;
const nanosPerSecond = 1_000_000_000;

export const timestampOverflow: Fault = fault("timestamp overflow");
export const intOverflow: Fault = fault("integer overflow");

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** RFC 3339. Undefined when it is not; a fault when it is but lies outside the years 1 to 9999. */
export function parseTimestamp(text: string): Timestamp | Fault | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  let offset = 0;
  if (match[8] !== undefined) {
    const [hours, minutes] = [Number(match[9]), Number(match[10])];
    if (hours > 24 || minutes > 59) return undefined;
    offset = (hours * 3600 + minutes * 60) * (match[8] === "-" ? -1 : 1);
  }
  const local = daysSinceEpoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  const nanos = Number((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return timestampAt(local - offset, nanos, offset);
}

/** A fault outside the years 1 to 9999. */
export function timestampAt(seconds: number, nanos: number, offsetSeconds = 0): Timestamp | Fault {
  if (seconds < minSeconds || seconds > maxSeconds) return timestampOverflow;
  return new Timestamp(seconds, nanos, offsetSeconds);
}

/** RFC 3339 with as many digits of a second as it takes, in the offset it was written with. */
export function formatTimestamp(time: Timestamp, offset = time.offsetSeconds): string {
  const { year, month, day, hour, minute, second } = calendar(time, offset);
  const fraction = time.nanos === 0 ? "" : `.${pad(time.nanos, 9)}`.replace(/0+$/, "");
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  return `${date}T${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}${fraction}${zoneText(offset)}`;
}

function zoneText(offset: number): string {
  if (offset === 0) return "Z";
  const minutes = Math.trunc(Math.abs(offset) / 60);
  return `${offset < 0 ? "-" : "+"}${pad(Math.trunc(minutes / 60), 2)}:${pad(minutes % 60, 2)}`;
}

export interface Calendar {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** 0 for the first of January. */
  readonly dayOfYear: number;
  /** 0 for Sunday. */
  readonly dayOfWeek: number;
}

export function calendar(time: Timestamp, offsetSeconds: number): Calendar {
  const local = time.seconds + offsetSeconds;
  const days = Math.floor(local / 86400);
  const rest = local - days * 86400;
  const { year, month, day } = civilFromDays(days);
  return {
    year,
    month,
    day,
    hour: Math.trunc(rest / 3600),
    minute: Math.trunc(rest / 60) % 60,
    second: rest % 60,
    dayOfYear: days - daysSinceEpoch(year, 1, 1),
    dayOfWeek: (((days + 4) % 7) + 7) % 7,
  };
}

/** Seconds east of UTC of a zone's name or a `+hh:mm` text, at a moment; a fault when there is no such zone. */
export function zoneOffset(zone: string, at: Timestamp): number | Fault {
  const colon = zone.indexOf(":");
  if (colon >= 0) {
    const [hours, minutes] = [zone.slice(0, colon), zone.slice(colon + 1)];
    if (!/^[+-]?\d+$/.test(hours)) return badNumber(hours);
    if (!/^[+-]?\d+$/.test(minutes)) return badNumber(minutes);
    const h = Number(hours) * 60;
    return (zone.startsWith("-") ? h - Number(minutes) : h + Number(minutes)) * 60;
  }
  if (zone === "" || zone === "UTC") return 0;
  try {
    const parts = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    const name = parts.formatToParts(at.seconds * 1000).find((part) => part.type === "timeZoneName")?.value;
    const match = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(name ?? "");
    if (match === null) return fault(`unknown time zone ${zone}`);
    const seconds = Number(match[2] ?? 0) * 3600 + Number(match[3] ?? 0) * 60 + Number(match[4] ?? 0);
    return match[1] === "-" ? -seconds : seconds;
  } catch (error) {
    if (error instanceof RangeError) return fault(`unknown time zone ${zone}`);
    throw error;
  }
}

function badNumber(text: string): Fault {
  return fault(`strconv.Atoi: parsing "${text}": invalid syntax`);
}

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** More digits than 64 bits hold, leading zeros aside. */
const longestWhole = 40;
const longestFraction = 30;

/** `1h15m30.5s`; undefined when it is not one or does not fit. */
export function parseDuration(text: string): Duration | undefined {
  const negative = text.startsWith("-");
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  if (unsigned === "0") return new Duration(0);
  const term = /(\d*)(?:\.(\d*))?([^\d.]+)/gy;
  let total = 0n;
  let at = 0;
  while (at < unsigned.length) {
    term.lastIndex = at;
    const match = term.exec(unsigned);
    const unit = match === null ? undefined : unitNanos[match[3] as string];
    if (match === null || unit === undefined) return undefined;
    const whole = match[1] ?? "";
    // What is far behind the point is less than a nanosecond.
    const fraction = (match[2] ?? "").slice(0, longestFraction);
    if (whole === "" && fraction === "") return undefined;
    if (whole.length > longestWhole) return undefined;
    total += BigInt(whole || "0") * unit;
    if (fraction !== "") total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    at = term.lastIndex;
  }
  if (unsigned === "") return undefined;
  const nanos = negative ? -total : total;
  return isInt64(nanos) ? new Duration(intFromBigInt(nanos)) : undefined;
}

/** Seconds, with as many digits as it takes: `5400.5s`. */
export function formatDuration(duration: Duration): string {
  const nanos = BigInt(duration.nanos);
  const magnitude = nanos < 0n ? -nanos : nanos;
  const whole = magnitude / 1_000_000_000n;
  const rest = magnitude % 1_000_000_000n;
  // Seconds are printed as a double prints: fifteen to seventeen digits, not all nineteen.
  const seconds = Number(whole) + Number(rest) / nanosPerSecond;
  return `${nanos < 0n ? "-" : ""}${plainDecimal(seconds)}s`;
}

/** The shortest decimal that reads back as the same double, never with an exponent. */
export function plainDecimal(value: number): string {
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [sign, whole, fraction, exponent] = [match[1], match[2] ?? "", match[3] ?? "", Number(match[4])];
  const digits = whole + fraction;
  const point = whole.length + exponent;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return `${sign}${digits}${"0".repeat(point - digits.length)}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

export function addDuration(time: Timestamp, by: Duration): Timestamp | Fault {
  const total = BigInt(time.seconds) * 1_000_000_000n + BigInt(time.nanos) + BigInt(by.nanos);
  const nanos = ((total % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return timestampAt(Number((total - nanos) / 1_000_000_000n), Number(nanos), time.offsetSeconds);
}

export function subDuration(time: Timestamp, by: Duration): Timestamp | Fault {
  const negated = negInt(by.nanos);
  return negated === undefined ? intOverflow : addDuration(time, new Duration(negated));
}

export function timeBetween(a: Timestamp, b: Timestamp): Duration | Fault {
  const nanos = BigInt(a.seconds - b.seconds) * 1_000_000_000n + BigInt(a.nanos - b.nanos);
  return isInt64(nanos) ? new Duration(intFromBigInt(nanos)) : intOverflow;
}

export function sumDurations(a: Duration, b: Duration): Duration | Fault {
  return durationOf(addInt(a.nanos, b.nanos));
}

export function durationDifference(a: Duration, b: Duration): Duration | Fault {
  return durationOf(subInt(a.nanos, b.nanos));
}

export function negateDuration(duration: Duration): Duration | Fault {
  return durationOf(negInt(duration.nanos));
}

function durationOf(nanos: Int | undefined): Duration | Fault {
  return nanos === undefined ? intOverflow : new Duration(nanos);
}

export function compareTimestamps(a: Timestamp, b: Timestamp): -1 | 0 | 1 {
  if (a.seconds !== b.seconds) return a.seconds < b.seconds ? -1 : 1;
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

// Days since the epoch in the proleptic Gregorian calendar, by counting years that start in March.
export function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146097 + dayOfEra - 719468;
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const dayOfEra = z - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  };
}
