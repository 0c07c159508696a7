/** Durations as Go writes and reads them, to the nanosecond: `1h2m3.5s`. */
import { lookupTable } from "./lookup-table.ts";

const unitNanos: Readonly<Record<string, bigint>> = lookupTable({
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
});

/** More digits than 64 bits hold, leading zeros aside: what is longer is refused before it becomes a number. */
const longestWhole = 40;
/** What is further behind the point is less than a nanosecond. */
const longestFraction = 30;

const maxNanos = 2n ** 63n - 1n;
const minNanos = -(2n ** 63n);

/** Nanoseconds of a Go duration such as `1h15m30.5s`; undefined when it is none or does not fit into 64 bits. */
export function parseGoDuration(text: string): bigint | undefined {
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  if (unsigned === "0") return 0n;
  if (unsigned === "") return undefined;
  const term = /(\d*)(?:\.(\d*))?([^\d.]+)/gy;
  let total = 0n;
  while (term.lastIndex < unsigned.length) {
    const match = term.exec(unsigned);
    if (match === null) return undefined;
    const [, whole = "", digits = "", name = ""] = match;
    const fraction = digits.slice(0, longestFraction);
    if (whole.length > longestWhole) return undefined;
    const unit = unitNanos[name];
    if (unit === undefined || (whole === "" && fraction === "")) return undefined;
    total += BigInt(whole || "0") * unit;
    if (fraction !== "") total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
  }
  const nanos = text.startsWith("-") ? -total : total;
  return nanos >= minNanos && nanos <= maxNanos ? nanos : undefined;
}

/** A duration as Go prints it: `1h2m3.5s`, `1m0s`, `1.5ms`, `2µs`, `0s`. */
export function formatGoDuration(nanos: bigint): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const total = nanos < 0n ? -nanos : nanos;
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${decimal(total, 3)}µs`;
  if (total < 1_000_000_000n) return `${sign}${decimal(total, 6)}ms`;
  const minutes = total / 60_000_000_000n;
  const seconds = `${decimal(total % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  const hours = minutes < 60n ? "" : `${minutes / 60n}h`;
  return `${sign}${hours}${minutes % 60n}m${seconds}`;
}

/** `value / 10^digits` without rounding and without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  const fraction = String(value % unit)
    .padStart(digits, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(value / unit) : `${value / unit}.${fraction}`;
}
