/** Complaints about literals that are well typed but can never work. */

import { lookupTable } from "@keelson/core/internal";
import type { CheckedExpr } from "../check/checker.ts";
import { validateFormatCalls } from "../library/string-format.ts";
import { type CallExpr, type Expr, walk } from "../syntax/ast.ts";
import { CelIssues } from "../syntax/errors.ts";
import { toDuration, toTimestamp } from "../values/convert.ts";
import { compilePattern } from "../values/regex.ts";
import { type CelType, formatType, sameType } from "../values/types.ts";
import { type CelValue, Fault } from "../values/values.ts";

/** Undefined when there is nothing to complain about, or the environment does not want to know. */
export function validateLiterals(checked: CheckedExpr): CelIssues | undefined {
  const { environment } = checked;
  const issues = new CelIssues(checked.source);
  const report = (id: number, message: string) => issues.report(checked.location(id), message);
  if (environment.checkedLiterals) {
    walk(checked.expr, (expr) => {
      if (expr.kind === "call") checkArgument(expr, report);
    });
  }
  if (environment.homogeneousLiterals) {
    walk(checked.expr, (expr, parents) => {
      // The arguments of format() are of as many types as its text asks for.
      if (parents.some((parent) => parent.kind === "call" && parent.fn === "format")) return;
      checkHomogeneous(checked, expr, report);
    });
  }
  validateFormatCalls(checked, report);
  return issues.count > 0 ? issues : undefined;
}

type Report = (id: number, message: string) => void;

const argumentChecks: Readonly<Record<string, (value: CelValue) => boolean>> = lookupTable({
  duration: (value) => !(toDuration(value) instanceof Fault),
  timestamp: (value) => !(toTimestamp(value) instanceof Fault),
  matches: (value) => typeof value === "string" && !(compilePattern(value) instanceof Fault),
});

function checkArgument(call: CallExpr, report: Report): void {
  const isFine = Object.hasOwn(argumentChecks, call.fn) ? argumentChecks[call.fn] : undefined;
  const [arg] = call.args;
  if (isFine === undefined || arg?.kind !== "literal" || isFine(arg.value)) return;
  report(arg.id, `invalid ${call.fn} argument`);
}

function checkHomogeneous(checked: CheckedExpr, expr: Expr, report: Report): void {
  const unwrap = (type: CelType, optional: boolean): CelType => (optional ? (type.params[0] ?? type) : type);
  const complain = (id: number, expected: CelType, actual: CelType) =>
    report(id, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  if (expr.kind === "list") {
    let expected: CelType | undefined;
    for (const [i, element] of expr.elements.entries()) {
      const type = unwrap(checked.typeOf(element.id), expr.optional.includes(i));
      expected ??= type;
      if (sameType(expected, type)) continue;
      complain(element.id, expected, type);
      return;
    }
  } else if (expr.kind === "map") {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      const keyType = checked.typeOf(entry.key.id);
      const valueType = unwrap(checked.typeOf(entry.value.id), entry.optional);
      key ??= keyType;
      value ??= valueType;
      if (!sameType(key, keyType)) complain(entry.key.id, key, keyType);
      if (!sameType(value, valueType)) complain(entry.value.id, value, valueType);
    }
  }
}
