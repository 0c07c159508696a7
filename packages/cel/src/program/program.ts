/** Compiles expressions, and runs what was compiled. */

import { type CheckedExpr, check } from "../check/checker.ts";
import type { Environment } from "../check/environment.ts";
import { walk } from "../syntax/ast.ts";
import { CelError, CelIssues } from "../syntax/errors.ts";
import { parse } from "../syntax/parser.ts";
import { noLocation } from "../syntax/source.ts";
import { EffortExceeded, effort, stepsPerCost } from "../values/effort.ts";
import type { CelType } from "../values/types.ts";
import { type CelValue, Fault } from "../values/values.ts";
import { CostExceeded, type Frame } from "./frame.ts";
import { type PlannedExpr, plan } from "./plan.ts";
import { validateLiterals } from "./validators.ts";

/** Limits of an evaluation. */
export interface EvaluateOptions {
  /** Evaluation stops when its cost passes this. Default 1,000,000, the API server's limit for one call. */
  readonly costLimit?: number;
}

/** The value of an expression, and what it cost. */
export interface Evaluation {
  /** A `Fault` when evaluation failed. */
  readonly value: CelValue;
  /** What it cost, also when it failed. */
  readonly cost: number;
}

/** An expression ready to run, any number of times. */
export class Program {
  readonly checked: CheckedExpr;
  readonly #planned: PlannedExpr;
  readonly #names: readonly string[];

  /** @throws CelError when a literal cannot be what a function needs of it. */
  constructor(checked: CheckedExpr) {
    this.checked = checked;
    this.#planned = plan(checked);
    this.#names = [...checked.environment.variables.keys()];
  }

  get resultType(): CelType {
    return this.checked.resultType;
  }

  /** The variables that the expression reads. */
  get references(): ReadonlySet<string> {
    const names = new Set<string>();
    walk(this.checked.expr, (expr) => {
      const reference = this.checked.reference(expr.id);
      if (reference?.kind === "ident") names.add(reference.name);
    });
    return names;
  }

  /** Never throws: errors and an exceeded limit come back as a fault. Variables may be left unbound. */
  evaluate(bindings: Readonly<Record<string, CelValue>> = {}, options: EvaluateOptions = {}): Evaluation {
    const names = this.#names;
    const vars: (CelValue | undefined)[] = new Array(names.length);
    for (let i = 0; i < names.length; i++) vars[i] = bindings[names[i] as string];
    return this.run(vars, options.costLimit ?? defaultCostLimit);
  }

  /** Like `evaluate`, with the variables in the environment's order. */
  run(vars: readonly (CelValue | undefined)[], costLimit: number): Evaluation {
    const frame: Frame = {
      vars,
      locals: this.#planned.localCount === 0 ? noLocals : new Array(this.#planned.localCount),
      cost: 0,
      limit: costLimit,
      maxSteps: effort.steps + costLimit * stepsPerCost,
    };
    const { matching } = effort;
    effort.matching = undefined;
    try {
      const value = this.#planned.step(frame);
      return { value, cost: frame.cost };
    } catch (error) {
      if (error instanceof CostExceeded) return { value: new Fault(error.message), cost: frame.cost };
      if (error instanceof EffortExceeded)
        return { value: new Fault(new CostExceeded().message), cost: frame.cost };
      // Too deep a value for the stack, too long a string: the engine's own limits.
      if (error instanceof RangeError) return { value: new Fault("resource exhausted"), cost: frame.cost };
      throw error;
    } finally {
      effort.matching = matching;
    }
  }
}

const noLocals: (CelValue | undefined)[] = [];
/** The cost at which an evaluation ends, as in Kubernetes. */
export const defaultCostLimit = 1_000_000;

/** Parses and checks, without making a program. */
export function compileToChecked(source: string, environment: Environment): CheckedExpr | CelIssues {
  const parsed = parse(source, {
    macros: environment.macros,
    optionalSyntax: environment.optionalSyntax,
    escapedFields: environment.escapedFields,
  });
  if (parsed instanceof CelIssues) return parsed;
  const checked = check(parsed, environment);
  if (checked instanceof CelIssues) return checked;
  return validateLiterals(checked) ?? checked;
}

/** Compiles an expression. Never throws for a bad expression: what is wrong with it comes back as issues. */
export function compile(source: string, environment: Environment): Program | CelIssues {
  const checked = compileToChecked(source, environment);
  if (checked instanceof CelIssues) return checked;
  try {
    return new Program(checked);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const issues = new CelIssues(checked.source);
    issues.report(noLocation, error.message);
    return issues;
  }
}
