/** Times and durations as Kubernetes writes them. */
import { CoreError } from "./errors.ts";
import { formatGoDuration, parseGoDuration } from "./go-duration.ts";
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

/** Milliseconds of a Go duration such as `1h2m3.5s`. Throws a {@link CoreError}. */
export function parseDuration(text: string): number {
  const nanos = parseGoDuration(text);
  if (nanos !== undefined) return Number(nanos) / 1e6;
  throw new CoreError("InvalidDuration", `cannot read ${JSON.stringify(text)} as a duration such as "1h30m"`);
}

/** A duration as Go prints it: `1h2m3.5s`, `0s`, `1.5ms`. */
export function formatDuration(ms: number): string {
  return formatGoDuration(BigInt(Math.round(ms * 1e6)));
}
