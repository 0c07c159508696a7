/** Numbers that may be written as a percentage. */
import type { Errors } from "./errors.ts";
import { notNegative, percent } from "./formats.ts";

type IntOrString = number | string;

export function checkIntOrPercent(path: string, value: IntOrString, errors: Errors): void {
  if (typeof value === "string") errors.messages(path, value, percent(value));
  else if (value < 0) errors.invalid(path, value, notNegative);
}

function percentOf(value: IntOrString): number | undefined {
  return typeof value === "string" && percent(value).length === 0 ? Number(value.slice(0, -1)) : undefined;
}

/** The number, with or without its percent sign; 0 for what is neither. */
export function amountOf(value: IntOrString): number {
  const share = percentOf(value);
  if (share !== undefined) return share;
  return typeof value === "number" ? value : /^-?\d+$/.test(value) ? Number(value) : 0;
}

export function checkAtMostAll(path: string, value: IntOrString, errors: Errors): void {
  if ((percentOf(value) ?? 0) > 100) errors.invalid(path, value, "must not be greater than 100%");
}
