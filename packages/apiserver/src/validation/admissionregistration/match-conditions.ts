/** Conditions in the expression language that narrow what a webhook or a policy is asked about. */

import { AdmissionCompiler, types } from "@keelson/cel";
import { validateQualifiedName } from "@keelson/core";
import type { MatchCondition } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";

const most = 64;
const compilers = new Map<boolean, AdmissionCompiler>();

function compilerOf(hasParams: boolean): AdmissionCompiler {
  let compiler = compilers.get(hasParams);
  if (!compiler) {
    compiler = new AdmissionCompiler({ hasParams, hasAuthorizer: true });
    compilers.set(hasParams, compiler);
  }
  return compiler;
}

export function checkMatchConditions(
  path: string,
  conditions: readonly MatchCondition[],
  hasParams: boolean,
  errors: Errors,
): void {
  if (conditions.length > most) errors.tooMany(path, conditions.length, most);
  const names = new Set<string>();
  for (const [i, { name = "", expression = "" }] of conditions.entries()) {
    const at = `${path}[${i}]`;
    const trimmed = expression.trim();
    if (trimmed === "") errors.required(`${at}.expression`);
    else {
      const { error } = compilerOf(hasParams).compile(trimmed, [types.bool]);
      if (error !== undefined) errors.invalid(`${at}.expression`, trimmed, error);
    }
    if (name === "") {
      errors.required(`${at}.name`);
      continue;
    }
    errors.messages(`${at}.name`, name, validateQualifiedName(name));
    if (names.has(name)) errors.duplicate(`${at}.name`, name);
    names.add(name);
  }
}
