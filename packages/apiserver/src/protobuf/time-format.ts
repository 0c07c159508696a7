/** Writes and reads times and durations as Go does. */
import { lookupTable } from "@keelson/core/internal";

const secondsPerDay = 86_400;

/** RFC 3339 in UTC with whole seconds, for any 64-bit second. */
export function formatTime(seconds: number): string {
  return `${formatDateTime(seconds)}Z`;
}

/** RFC 3339 in UTC with six fractional digits; what is finer is cut off. */
export function formatMicroTime(seconds: number, nanos: number): string {
  const micros = Math.trunc(nanos / 1000);
  const carried = seconds + Math.floor(micros / 1_000_000);
  const rest = ((micros % 1_000_000) + 1_000_000) % 1_000_000;
  return `${formatDateTime(carried)}.${String(rest).padStart(6, "0")}Z`;
}

/** Proleptic Gregorian, by counting from 1 March of year 0: Date ends at the year 275760, a varint does not. */
function formatDateTime(seconds: number): string {
  const days = Math.floor(seconds / secondsPerDay);
  const inDay = seconds - days * secondsPerDay;
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const pad = (value: number, width = 2) => String(value).padStart(width, "0");
  const date = `${year < 0 ? `-${pad(-year, 4)}` : pad(year, 4)}-${pad(month)}-${pad(day)}`;
  return `${date}T${pad(Math.floor(inDay / 3600))}:${pad(Math.floor(inDay / 60) % 60)}:${pad(inDay % 60)}`;
}

/** Go's way: `1h30m0s`, `1.5s`, `300ms`, `2µs`, `0s`. */
export function formatDuration(nanoseconds: number): string {
  if (nanoseconds === 0) return "0s";
  const sign = nanoseconds < 0 ? "-" : "";
  const total = Math.abs(nanoseconds);
  if (total < 1000) return `${sign}${total}ns`;
  if (total < 1_000_000) return `${sign}${decimal(total, 1000)}µs`;
  if (total < 1_000_000_000) return `${sign}${decimal(total, 1_000_000)}ms`;
  const minutes = Math.floor(total / 60_000_000_000);
  const seconds = `${decimal(total - minutes * 60_000_000_000, 1_000_000_000)}s`;
  if (minutes === 0) return `${sign}${seconds}`;
  const hours = Math.floor(minutes / 60);
  return `${sign}${hours > 0 ? `${hours}h` : ""}${minutes % 60}m${seconds}`;
}

/** `value / unit` without rounding and without trailing zeros; `unit` is a power of ten. */
function decimal(value: number, unit: number): string {
  const whole = Math.floor(value / unit);
  const fraction = String(value - whole * unit)
    .padStart(String(unit).length - 1, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}

const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339 with any offset; undefined when it is none. */
export function parseTime(text: string): { seconds: number; nanos: number } | undefined {
  const [, dateTime, fraction = "", offset] = timePattern.exec(text) ?? [];
  const milliseconds = dateTime === undefined ? Number.NaN : Date.parse(`${dateTime}${offset}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return { seconds: milliseconds / 1000, nanos: Number(fraction.padEnd(9, "0")) };
}

const nanosecondsPer: Readonly<Record<string, number>> = lookupTable({
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
});

/** Nanoseconds of a duration as Go reads it: `1h30m`, `-1.5s`, `0`; undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const sign = /^[-+]/.exec(text)?.[0] ?? "";
  if (text.length === sign.length) return undefined;
  if (text.slice(sign.length) === "0") return 0;
  const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
  part.lastIndex = sign.length;
  let total = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    total += Number(match[1]) * (nanosecondsPer[match[2] as string] as number);
  }
  return sign === "-" ? -Math.trunc(total) : Math.trunc(total);
}
