/** Times and durations as Kubernetes writes them. */
import { CoreError } from "./errors.ts";
import type { MicroTime, Time } from "./object.ts";

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** The text of the second that was asked for last: most writes happen in the same one. */
let latest: { readonly second: number; readonly text: Time } | undefined;

/** `2026-01-31T12:00:00Z`, the fraction cut off. */
export function formatTime(epochMs: number): Time {
  const second = Math.floor(epochMs / 1000);
  if (latest?.second !== second)
    latest = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` };
  return latest.text;
}

/** `2026-01-31T12:00:00.000000Z`; a millisecond clock leaves the last three digits zero. */
export function formatMicroTime(epochMs: number): MicroTime {
  const micros = Math.floor(epochMs * 1000);
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return `${new Date(millis).toISOString().slice(0, 23)}${rest}Z`;
}

/** Milliseconds since the epoch, with fractions of one where the text has them. Throws a {@link CoreError}. */
export function parseTime(text: string): number {
  const match = rfc3339.exec(text);
  const whole = match ? Date.parse(text.replace(/\.\d+/, "")) : Number.NaN;
  const day = match ? Number(match[3]) : 0;
  const daysInMonth = match ? new Date(Date.UTC(Number(match[1]), Number(match[2]), 0)).getUTCDate() : 0;
  if (match === null || Number.isNaN(whole) || day > daysInMonth) {
    throw new CoreError("InvalidTime", `cannot read ${JSON.stringify(text)} as a time: expected RFC 3339`);
  }
  return match[7] === undefined ? whole : whole + Number(`0.${match[7]}`) * 1000;
}

const unitNanos: Record<string, number> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const durationPart = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Milliseconds of a Go duration such as `1h2m3.5s`. Throws a {@link CoreError}. */
export function parseDuration(text: string): number {
  const invalid = () =>
    new CoreError("InvalidDuration", `cannot read ${JSON.stringify(text)} as a duration such as "1h30m"`);
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return 0;
  if (body === "") throw invalid();
  let nanos = 0;
  durationPart.lastIndex = 0;
  while (durationPart.lastIndex < body.length) {
    const match = durationPart.exec(body);
    if (match === null) throw invalid();
    nanos += Number(match[1]) * (unitNanos[match[2] as string] as number);
  }
  return (text.startsWith("-") ? -nanos : nanos) / 1e6;
}

/** A duration as Go prints it: `1h2m3.5s`, `0s`, `1.5ms`. */
export function formatDuration(ms: number): string {
  const nanos = Math.round(Math.abs(ms) * 1e6);
  if (nanos === 0) return "0s";
  const sign = ms < 0 ? "-" : "";
  if (nanos < 1e3) return `${sign}${nanos}ns`;
  if (nanos < 1e6) return `${sign}${nanos / 1e3}µs`;
  if (nanos < 1e9) return `${sign}${nanos / 1e6}ms`;
  const seconds = Math.floor(nanos / 1e9);
  const rest = nanos - seconds * 1e9;
  const fraction = rest === 0 ? "" : `.${String(rest).padStart(9, "0").replace(/0+$/, "")}`;
  const tail = `${seconds % 60}${fraction}s`;
  if (seconds < 60) return sign + tail;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes}m${tail}`;
  return `${sign}${Math.floor(minutes / 60)}h${minutes % 60}m${tail}`;
}
