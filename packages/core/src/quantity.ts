/** Amounts of resources (`500m`, `1Gi`, `1e3`): exact arithmetic and the API server's canonical text. */

import { CoreError } from "./errors.ts";
import { lookupTable } from "./lookup-table.ts";

/** How a quantity is written: decimal, binary, or with an exponent. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
const nano = -9;

const decimalSuffixes: Record<string, number> = lookupTable({
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
});
const decimalSuffixOf = new Map(Object.entries(decimalSuffixes).map(([suffix, power]) => [power, suffix]));
const binarySuffixes: Record<string, number> = lookupTable({
  Ki: 10,
  Mi: 20,
  Gi: 30,
  Ti: 40,
  Pi: 50,
  Ei: 60,
});
const binarySuffixOf = new Map(Object.entries(binarySuffixes).map(([suffix, power]) => [power, suffix]));

/** Longer texts are refused: arithmetic on a million digits would keep everybody waiting. */
const longestText = 1000;
const suffixShape = /^[eEinumkKMGTP]*[-+]?\d*$/;
const formatWrong =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const exponentDigits = /^[+-]?\d+$/;

function fail(message: string): never {
  throw new CoreError("InvalidQuantity", message);
}

function isInt64(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

/** Far beyond any amount, and small enough to compute: `1e2147483647` parses, but nothing adds to it. */
const largestPower = 100_000;

function pow10(power: number): bigint {
  if (power > largestPower) fail("the quantity is too large to compute with");
  return 10n ** BigInt(power);
}

/** Divides and rounds away from zero. */
function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

function suffixMeaning(suffix: string): { base: 2 | 10; power: number; format: QuantityFormat } | undefined {
  const decimal = decimalSuffixes[suffix];
  if (decimal !== undefined) return { base: 10, power: decimal, format: "DecimalSI" };
  const binary = binarySuffixes[suffix];
  if (binary !== undefined) return { base: 2, power: binary, format: "BinarySI" };
  const digits = suffix.slice(1);
  if ((suffix[0] !== "e" && suffix[0] !== "E") || !exponentDigits.test(digits)) return undefined;
  const power = BigInt(digits.startsWith("+") ? digits.slice(1) : digits);
  if (!isInt64(power)) return undefined;
  return { base: 10, power: Number(BigInt.asIntN(32, power)), format: "DecimalExponent" };
}

/** Sign, leading zeros, digits, digits behind the point, and the rest. */
function split(text: string) {
  let at = 0;
  const take = (accepts: (char: string) => boolean): string => {
    const start = at;
    while (at < text.length && accepts(text[at] as string)) at++;
    return text.slice(start, at);
  };
  const isDigit = (char: string) => char >= "0" && char <= "9";
  const sign = text[0] === "+" || text[0] === "-" ? (text[at++] as string) : "";
  const zeros = take((char) => char === "0");
  const digits = take(isDigit);
  if (text[at] === ".") at++;
  const fraction = text[at - 1] === "." ? take(isDigit) : "";
  return { sign, zeros, digits, fraction, suffix: text.slice(at) };
}

interface Parts {
  readonly unscaled: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  readonly small: boolean;
  readonly text?: string | undefined;
}

/**
 * An immutable amount: `unscaled · 10^exponent`.
 *
 * Guarantees: arithmetic is exact at any size; parsing rounds away from zero to the nano and caps binary
 * amounts at 2^63-1, as the API server does; `toString` is the text the API server stores.
 */
export class Quantity {
  readonly #unscaled: bigint;
  readonly #exponent: number;
  /** Whether the API server would hold it in 64 bits; decides {@link asInt64} alone. */
  readonly #small: boolean;
  readonly format: QuantityFormat;
  #text: string | undefined;

  private constructor({ unscaled, exponent, format, small, text }: Parts) {
    this.#unscaled = unscaled;
    this.#exponent = exponent;
    this.format = format;
    this.#small = small;
    this.#text = text;
  }

  /** Throws a {@link CoreError} with the API server's message. */
  static parse(text: string): Quantity {
    if (text === "0") {
      return new Quantity({ unscaled: 0n, exponent: 0, format: "DecimalSI", small: true, text });
    }
    if (text === "" || text.length > longestText) fail(formatWrong);
    const { sign, zeros, digits, fraction, suffix } = split(text);
    if (!suffixShape.test(suffix)) fail(formatWrong);
    const meaning = suffixMeaning(suffix);
    if (meaning === undefined) fail("unable to parse quantity's suffix");
    const number = digits === "" ? "0" : digits;
    const small = parseSmall(text, sign === "-", number, fraction, meaning);
    if (small !== undefined) return new Quantity(small);
    // Only what does not fit 64 bits is read strictly: the API server takes "Ki" for zero, and not "Ei".
    if (zeros + digits + fraction === "") fail("unable to parse numeric part of quantity");
    return new Quantity(parseLarge(sign === "-", number, fraction, meaning));
  }

  /** The quantity a field holds, which may also be written as a number. */
  static from(value: string | number | Quantity): Quantity {
    if (value instanceof Quantity) return value;
    return Quantity.parse(typeof value === "number" ? String(value) : value.trim());
  }

  /** `value · 10^exponent`, as a computed amount. */
  static of(value: bigint | number, exponent = 0, format: QuantityFormat = "DecimalSI"): Quantity {
    const unscaled = BigInt(value);
    return new Quantity({ unscaled, exponent, format, small: isInt64(unscaled) });
  }

  /** The sum; zero takes the other's format. */
  add(other: Quantity): Quantity {
    const format = this.isZero() ? other.format : this.format;
    if (this.#small && other.#small) {
      if (other.isZero()) return this.#with({ format });
      if (this.isZero()) return other.#with({ format });
    }
    const exponent = Math.min(this.#exponent, other.#exponent);
    const left = this.#unscaled * pow10(this.#exponent - exponent);
    const right = other.#unscaled * pow10(other.#exponent - exponent);
    const unscaled = left + right;
    const small = this.#small && other.#small && [left, right, unscaled].every(isInt64);
    return new Quantity({ unscaled, exponent, format, small });
  }

  sub(other: Quantity): Quantity {
    return this.add(other.neg());
  }

  neg(): Quantity {
    return this.#with({ unscaled: -this.#unscaled });
  }

  /** The product with an integer. */
  mul(factor: bigint | number): Quantity {
    const unscaled = this.#unscaled * BigInt(factor);
    return this.#with({ unscaled, small: this.#small && isInt64(unscaled) });
  }

  #with(parts: Partial<Parts>): Quantity {
    const { format } = this;
    return new Quantity({
      unscaled: this.#unscaled,
      exponent: this.#exponent,
      format,
      small: this.#small,
      ...parts,
    });
  }

  /** Negative, zero or positive, as in sorting. */
  compare(other: Quantity): -1 | 0 | 1 {
    const sign = this.sign();
    if (sign !== other.sign()) return sign < other.sign() ? -1 : 1;
    // Amounts of different length are told apart without being written out.
    const digits = this.#length() - other.#length();
    if (sign !== 0 && digits !== 0) return digits < 0 === sign > 0 ? -1 : 1;
    const exponent = Math.min(this.#exponent, other.#exponent);
    const left = this.#unscaled * pow10(this.#exponent - exponent);
    const right = other.#unscaled * pow10(other.#exponent - exponent);
    return left < right ? -1 : left > right ? 1 : 0;
  }

  /** Digits before the decimal point, negative when the amount begins after it. */
  #length(): number {
    return String(this.#unscaled).length - (this.#unscaled < 0n ? 1 : 0) + this.#exponent;
  }

  equals(other: Quantity): boolean {
    return this.compare(other) === 0;
  }

  sign(): -1 | 0 | 1 {
    return this.#unscaled < 0n ? -1 : this.#unscaled > 0n ? 1 : 0;
  }

  isZero(): boolean {
    return this.#unscaled === 0n;
  }

  /** The amount in units of `10^exponent`, rounded away from zero. */
  scaledValue(exponent: number): bigint {
    return this.#exponent < exponent
      ? divideUp(this.#unscaled, pow10(exponent - this.#exponent))
      : this.#unscaled * pow10(this.#exponent - exponent);
  }

  /** Whole units, rounded away from zero. */
  value(): bigint {
    return this.scaledValue(0);
  }

  /** Thousandths, rounded away from zero. */
  milliValue(): bigint {
    return this.scaledValue(-3);
  }

  /**
   * The amount as an integer where the API server converts it without loss, undefined otherwise.
   * The trap is the API server's: `1000m` does not convert, because it was written in thousandths.
   */
  asInt64(): bigint | undefined {
    if (!this.#small || this.#exponent < 0) return undefined;
    const value = this.#unscaled * pow10(this.#exponent);
    return isInt64(value) ? value : undefined;
  }

  /** The nearest float; infinite beyond its range. */
  toNumber(): number {
    return Number(`${this.#unscaled}e${this.#exponent}`);
  }

  /** The canonical text: the largest suffix of its family that leaves no fraction. */
  toString(): string {
    this.#text ??= this.#canonical();
    return this.#text;
  }

  toJSON(): string {
    return this.toString();
  }

  #canonical(): string {
    if (this.#unscaled === 0n) return "0";
    if (this.format === "BinarySI") {
      const whole = this.scaledValue(0);
      const exact = this.compare(Quantity.of(whole)) === 0;
      if (exact && (whole <= -1024n || whole >= 1024n)) {
        let amount = whole;
        let power = 0;
        while (amount % 1024n === 0n) {
          amount /= 1024n;
          power += 10;
        }
        return `${amount}${binarySuffixOf.get(power) ?? ""}`;
      }
    }
    let amount = this.#unscaled;
    let exponent = this.#exponent;
    while (amount % 10n === 0n) {
      amount /= 10n;
      exponent++;
    }
    while (exponent % 3 !== 0) {
      amount *= 10n;
      exponent--;
    }
    if (this.format === "DecimalExponent") return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
    return `${amount}${decimalSuffixOf.get(exponent) ?? ""}`;
  }
}

interface Meaning {
  readonly base: 2 | 10;
  readonly power: number;
  readonly format: QuantityFormat;
}

/** What fits 64 bits keeps its text when it is canonical already. */
function parseSmall(
  text: string,
  negative: boolean,
  number: string,
  fraction: string,
  { base, power, format }: Meaning,
): Parts | undefined {
  let exponent = 0;
  let factor = 1n;
  if (base === 10) {
    if (number.length + fraction.length > 18) return undefined;
    exponent = power;
  } else {
    if (fraction !== "" || 15 - number.length - Math.trunc((power * 3) / 10) - 1 < 0) return undefined;
    factor = 1n << BigInt(power);
  }
  exponent -= fraction.length;
  if (exponent < nano) return undefined;
  const shifted = number + fraction;
  const value = BigInt(shifted);
  const result = value * factor;
  if (!isInt64(result)) return undefined;
  const canonical =
    base === 2
      ? (value & 7n) !== 0n
      : exponent % 3 === 0 && !shifted.endsWith("000") && !shifted.startsWith("0");
  return {
    unscaled: negative ? -result : result,
    exponent,
    format,
    small: true,
    text: canonical ? text : undefined,
  };
}

function parseLarge(
  negative: boolean,
  number: string,
  fraction: string,
  { base, power, format }: Meaning,
): Parts {
  let unscaled = BigInt(number + fraction);
  let exponent = -fraction.length;
  if (base === 10) exponent += power;
  else unscaled *= 1n << BigInt(power);
  if (unscaled !== 0n && exponent < nano) {
    const digits = nano - exponent;
    unscaled = digits > number.length + fraction.length + 20 ? 1n : divideUp(unscaled, pow10(digits));
    exponent = nano;
  }
  let outFormat = format;
  if (format === "BinarySI" && unscaled !== 0n) {
    const cap = exponent < 0 ? maxInt64 * pow10(-exponent) : maxInt64;
    if (unscaled > cap) {
      unscaled = maxInt64;
      exponent = 0;
    }
    const one = exponent < 0 ? pow10(-exponent) : 1n;
    if (unscaled < one) outFormat = "DecimalSI";
  }
  return { unscaled: negative ? -unscaled : unscaled, exponent, format: outFormat, small: false };
}
