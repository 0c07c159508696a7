/** The expressions of one policy, which share its variables. */
import { AdmissionCompiler, type CelType } from "@keelson/cel";
import type { Variable } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved = new Set(
  `true false null in as break const continue else for function if import let loop package namespace return
   var void while`.split(/\s+/),
);

export interface ExpressionOptions {
  readonly hasParams: boolean;
  readonly patches?: boolean;
  /** Policies that change objects have `variables` even when there are none. */
  readonly composed?: boolean;
}

export class Expressions {
  readonly #variables: readonly Variable[];
  readonly #options: ExpressionOptions;
  #compiler: AdmissionCompiler | undefined;

  constructor(variables: readonly Variable[], options: ExpressionOptions) {
    this.#variables = variables;
    this.#options = options;
  }

  checkVariables(path: string, errors: Errors): void {
    const wrong = new Map(this.#compile(true).variableErrors.map(({ name, error }) => [name, error]));
    for (const [i, { name = "", expression = "" }] of this.#variables.entries()) {
      const at = `${path}[${i}]`;
      if (name.trim() === "") errors.required(`${at}.name`, "name is not specified");
      else if (!identifier.test(name) || reserved.has(name))
        errors.invalid(`${at}.name`, name, "must be a valid CEL identifier");
      const problem = wrong.get(name);
      if (expression.trim() === "") errors.required(`${at}.expression`, "expression is not specified");
      else if (problem !== undefined) errors.invalid(`${at}.expression`, expression, problem);
    }
  }

  check(
    path: string,
    expression: string,
    returns: readonly CelType[],
    errors: Errors,
    hasAuthorizer = true,
    shown = expression,
  ): void {
    const { error } = this.#compile(hasAuthorizer).compile(expression, returns);
    if (error !== undefined) errors.invalid(path, shown, error);
  }

  #compile(hasAuthorizer: boolean): AdmissionCompiler {
    if (hasAuthorizer && this.#compiler) return this.#compiler;
    const { hasParams, patches, composed } = this.#options;
    const compiler = new AdmissionCompiler({
      hasParams,
      hasAuthorizer,
      ...(patches && { hasPatchTypes: true }),
      ...((composed || this.#variables.length > 0) && {
        variables: this.#variables.filter(({ expression }) => expression?.trim()),
      }),
    });
    if (hasAuthorizer) this.#compiler = compiler;
    return compiler;
  }
}
