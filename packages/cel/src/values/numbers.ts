/**
 * 64-bit integers.
 *
 * An integer is a plain number while it is safe (|n| < 2^53) and a bigint beyond, never the other way
 * round: so two integers are equal exactly when `===` says so, small ones cost no allocation, and no digit
 * is ever lost. Every operation returns that normal form, or undefined when the result leaves 64 bits.
 */

/** Normal form: a number where it is safe, else a bigint. */
export type Int = number | bigint;

const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;
const maxUint64 = 2n ** 64n - 1n;
const minSafe = BigInt(Number.MIN_SAFE_INTEGER);
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

export function intFromBigInt(value: bigint): Int {
  return value >= minSafe && value <= maxSafe ? Number(value) : value;
}

export function isInt64(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

export function isUint64(value: bigint): boolean {
  return value >= 0n && value <= maxUint64;
}

function signed(value: bigint): Int | undefined {
  return isInt64(value) ? intFromBigInt(value) : undefined;
}

function unsigned(value: bigint): Int | undefined {
  return isUint64(value) ? intFromBigInt(value) : undefined;
}

export function addInt(a: Int, b: Int): Int | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return signed(BigInt(a) + BigInt(b));
}

export function subInt(a: Int, b: Int): Int | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return signed(BigInt(a) - BigInt(b));
}

export function mulInt(a: Int, b: Int): Int | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product === 0 ? 0 : product;
  }
  return signed(BigInt(a) * BigInt(b));
}

/** The divisor must not be zero. */
export function divInt(a: Int, b: Int): Int | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const quotient = Math.trunc(a / b);
    // Doubles round a quotient near 2^53 up to the next integer; the remainder tells.
    if (Math.abs(a) < 2 ** 50) return quotient === 0 ? 0 : quotient;
  }
  return signed(BigInt(a) / BigInt(b));
}

/** The divisor must not be zero. The smallest integer modulo -1 overflows, as its division does. */
export function modInt(a: Int, b: Int): Int | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const rest = a % b;
    return rest === 0 ? 0 : rest;
  }
  if (a === minInt64 && b === -1) return undefined;
  return signed(BigInt(a) % BigInt(b));
}

export function negInt(a: Int): Int | undefined {
  if (typeof a === "number") return a === 0 ? 0 : -a;
  return signed(-a);
}

export function addUint(a: Int, b: Int): Int | undefined {
  return unsigned(BigInt(a) + BigInt(b));
}

export function subUint(a: Int, b: Int): Int | undefined {
  return unsigned(BigInt(a) - BigInt(b));
}

export function mulUint(a: Int, b: Int): Int | undefined {
  return unsigned(BigInt(a) * BigInt(b));
}

/** The divisor must not be zero. */
export function divUint(a: Int, b: Int): Int {
  return intFromBigInt(BigInt(a) / BigInt(b));
}

/** The divisor must not be zero. */
export function modUint(a: Int, b: Int): Int {
  return intFromBigInt(BigInt(a) % BigInt(b));
}

/** Works between numbers and bigints alike. */
export function compareInt(a: Int, b: Int): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How an integer stands to a double, rounding the integer as a 64-bit conversion to double does. */
export function compareIntToDouble(a: Int, d: number): -1 | 0 | 1 {
  const n = Number(a);
  return n < d ? -1 : n > d ? 1 : 0;
}

/** Truncates towards zero; undefined for what does not fit, the end points of the range included. */
export function intFromDouble(d: number): Int | undefined {
  if (!Number.isFinite(d) || d <= -(2 ** 63) || d >= 2 ** 63) return undefined;
  const whole = Math.trunc(d);
  return Number.isSafeInteger(whole) ? (whole === 0 ? 0 : whole) : BigInt(whole);
}

export function uintFromDouble(d: number): Int | undefined {
  if (!Number.isFinite(d) || d < 0 || d >= 2 ** 64) return undefined;
  const whole = Math.trunc(d);
  return Number.isSafeInteger(whole) ? (whole === 0 ? 0 : whole) : BigInt(whole);
}

/** Decimal digits with an optional sign, nothing else; undefined when they do not fit. */
export function intFromDecimal(text: string): Int | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  return signed(BigInt(text.startsWith("+") ? text.slice(1) : text));
}

export function uintFromDecimal(text: string): Int | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  return unsigned(BigInt(text));
}
