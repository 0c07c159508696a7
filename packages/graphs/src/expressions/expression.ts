/** A compiled expression of a definition, and what its evaluation may end with. */
import {
  CelIssues,
  type CelType,
  type CelValue,
  compile,
  type Environment,
  Fault,
  Optional,
  type Program,
} from "@keelson/cel";
import { walk } from "@keelson/cel/internal";
import { invalid } from "../errors.ts";
import type { Path } from "../path.ts";
import { type Rendered, render } from "./json.ts";
import type { CelText } from "./text.ts";

/** Values of the variables that an expression may read. Those that are not there yet are left out. */
export type Bindings = Readonly<Record<string, CelValue>>;

/** Something that an expression needs is not there yet: it will be, and then the expression is asked again. */
export class DataPending extends Error {
  override readonly name = "DataPending";
}

/** An expression that failed for another reason than missing data. */
export class ExpressionFailed extends Error {
  override readonly name = "ExpressionFailed";
}

/** More than any sensible expression takes, less than what would hold up a reconcile. */
const costLimit = 10_000_000;

/** What all expressions of one look may cost together: a loop asks the same ones for each of its elements. */
export class CostBudget {
  #left = costLimit;

  get limit(): number {
    return this.#left;
  }

  spend(cost: number): void {
    this.#left = Math.max(0, this.#left - cost);
  }
}

/** An expression ready to be evaluated, any number of times. */
export class Expression {
  /** As the author wrote it. */
  readonly shown: string;
  /** As it was compiled: text around expressions is part of it. */
  readonly source: string;
  readonly path: Path;
  readonly program: Program;
  /** Variables that it reads. */
  readonly references: ReadonlySet<string>;
  readonly usesOmit: boolean;

  constructor(text: CelText, path: Path, program: Program) {
    this.shown = text.shown;
    this.source = text.cel;
    this.path = path;
    this.program = program;
    this.references = program.references;
    let usesOmit = false;
    walk(program.checked.expr, (expr) => {
      if (expr.kind === "call" && expr.fn === "omit" && expr.target === undefined) usesOmit = true;
    });
    this.usesOmit = usesOmit;
  }

  get type(): CelType {
    return this.program.resultType;
  }

  /** @throws DataPending, ExpressionFailed */
  value(bindings: Bindings, budget = new CostBudget()): CelValue {
    const { value, cost } = this.program.evaluate(bindings, { costLimit: budget.limit });
    budget.spend(cost);
    if (value instanceof Fault) throw this.#failure(value);
    return value;
  }

  /** As JSON. @throws DataPending, ExpressionFailed */
  json(bindings: Bindings, budget?: CostBudget): Rendered {
    const rendered = render(this.value(bindings, budget));
    if (rendered instanceof Fault) throw this.#failure(rendered);
    return rendered;
  }

  /** Nothing at all is false. @throws DataPending, ExpressionFailed */
  truth(bindings: Bindings, budget?: CostBudget): boolean {
    const value = this.value(bindings, budget);
    const inner = value instanceof Optional ? value.value : value;
    if (inner === undefined || inner === null) return false;
    if (typeof inner !== "boolean") throw new ExpressionFailed(`${this.shown} gave no truth value`);
    return inner;
  }

  #failure({ message }: Fault): Error {
    const told = `${this.shown}: ${message}`;
    return missing.test(message) ? new DataPending(told) : new ExpressionFailed(told);
  }
}

/** What CEL says of fields, keys, elements and variables that are not there. */
const missing = /no such (key|field|attribute)|index out of bounds/;

/** @throws GraphError with the first thing that is wrong, and where in the expression. */
export function compileExpression(text: CelText, environment: Environment, path: Path): Expression {
  const program = compile(text.cel, environment);
  if (!(program instanceof CelIssues)) return new Expression(text, path, program);
  const [first] = program.issues;
  const message = (first?.message ?? String(program)).replace(/ \(in container ''\)/g, "");
  throw invalid(path, `${text.shown} is no valid expression: ${message}`);
}
