/** Strings that a schema's `format` turns into something else: durations, dates, bytes. */
import { intFromBigInt, isInt64 } from "../../values/numbers.ts";
import { parseDuration, parseTimestamp } from "../../values/time.ts";
import { Duration, Fault, type Timestamp } from "../../values/values.ts";

const units: readonly { names: readonly string[]; nanos: bigint }[] = [
  { names: ["ns", "nano"], nanos: 1n },
  { names: ["us", "\u00b5s", "micro"], nanos: 1_000n },
  { names: ["ms", "milli"], nanos: 1_000_000n },
  { names: ["s", "sec"], nanos: 1_000_000_000n },
  { names: ["m", "min"], nanos: 60_000_000_000n },
  { names: ["h", "hr", "hour"], nanos: 3_600_000_000_000n },
  { names: ["d", "day"], nanos: 86_400_000_000_000n },
  { names: ["w", "wk", "week"], nanos: 604_800_000_000_000n },
];

/** More digits do not fit 64 bits. */
const longestCount = 19;

/** Each number and the word behind it, wherever they stand. */
function* countsOf(text: string): Generator<{ count: string; unit: string }> {
  const word = /\s*([A-Za-z\u00b5]+)/y;
  for (const { 0: count, index } of text.matchAll(/\d+/g)) {
    word.lastIndex = index + count.length;
    const unit = word.exec(text)?.[1];
    if (unit !== undefined) yield { count, unit: unit.toLowerCase() };
  }
}

/** `1h30m`, and also `2 weeks`: what the `duration` format takes. */
export function parseFormattedDuration(text: string): Duration | undefined {
  const exact = parseDuration(text);
  if (exact !== undefined) return exact;
  let total = 0n;
  let found = false;
  for (const { count, unit } of countsOf(text)) {
    if (count.length > longestCount) return undefined;
    for (const { names, nanos } of units) {
      // The last name of a unit may be followed by more letters: `seconds`, `sec`.
      const matching = names.some(
        (name, i) => name === unit || (i === names.length - 1 && unit.startsWith(name)),
      );
      if (!matching) continue;
      found = true;
      total += BigInt(count) * nanos;
    }
  }
  return found && isInt64(total) ? new Duration(intFromBigInt(total)) : undefined;
}

/** RFC 3339, or the same without a zone, which then is UTC. */
export function parseFormattedDateTime(text: string): Timestamp | undefined {
  if (text === "") return asTimestamp("1970-01-01T00:00:00Z");
  return asTimestamp(text) ?? asTimestamp(`${text}Z`);
}

/** A plain date: midnight UTC. */
export function parseFormattedDate(text: string): Timestamp | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? asTimestamp(`${text}T00:00:00Z`) : undefined;
}

function asTimestamp(text: string): Timestamp | undefined {
  const time = parseTimestamp(text);
  return time instanceof Fault ? undefined : time;
}

/** base64 in the alphabet for URLs, which is the one the API server reads here. */
export function parseFormattedBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  return Uint8Array.from(Buffer.from(text, "base64url"));
}
