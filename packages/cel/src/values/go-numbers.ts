/** Numbers as Go prints them, where results show it. */

/** A double with a fixed number of decimals, rounded to even from its exact value. */
export function fixedDecimal(value: number, precision: number): string {
  const { numerator, denominator, negative } = exactFraction(value);
  const scaled = numerator * 10n ** BigInt(precision);
  let quotient = scaled / denominator;
  const rest = (scaled % denominator) * 2n;
  if (rest > denominator || (rest === denominator && quotient % 2n === 1n)) quotient += 1n;
  const digits = quotient.toString().padStart(precision + 1, "0");
  const whole = digits.slice(0, digits.length - precision);
  const sign = negative ? "-" : "";
  return precision === 0 ? sign + whole : `${sign}${whole}.${digits.slice(digits.length - precision)}`;
}

/** A finite double as an exact fraction. */
function exactFraction(value: number): { numerator: bigint; denominator: bigint; negative: boolean } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = exponent === 0 ? fraction : fraction | 0x10000000000000n;
  const power = (exponent === 0 ? 1 : exponent) - 1075;
  const negative = bits >> 63n === 1n;
  return power >= 0
    ? { numerator: mantissa << BigInt(power), denominator: 1n, negative }
    : { numerator: mantissa, denominator: 1n << BigInt(-power), negative };
}

/** Mantissa and exponent, the exponent with a sign and two digits at least: `1.5e+03`. */
export function scientific(value: number, precision: number): string {
  const [mantissa = "", power = "0"] = value.toExponential(precision).split("e");
  const exponent = Number(power);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
