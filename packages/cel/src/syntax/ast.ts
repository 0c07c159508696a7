/** The syntax tree: macros are already expanded, every node has an id and a place in the text. */
import type { CelValue } from "../values/values.ts";

interface Node {
  /** Unique in its tree; types and references are recorded by it. */
  readonly id: number;
}

export interface LiteralExpr extends Node {
  readonly kind: "literal";
  readonly value: CelValue;
}

export interface IdentExpr extends Node {
  readonly kind: "ident";
  /** A leading dot asks for the root scope. */
  readonly name: string;
}

export interface SelectExpr extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** True below `has()`: asks whether the field is there, not for its value. */
  readonly testOnly: boolean;
}

export interface CallExpr extends Node {
  readonly kind: "call";
  readonly fn: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Node {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Indices written with a question mark: left out when the optional is empty. */
  readonly optional: readonly number[];
}

export interface MapEntry {
  readonly id: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapExpr extends Node {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly id: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface StructExpr extends Node {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly StructField[];
}

/** The one loop of the language; macros and `cel.bind` become it. */
export interface ComprehensionExpr extends Node {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly iterVar: string;
  /** Present in the two-variable forms: key and value, or index and element. */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Stands where a syntax error left nothing. */
export interface MissingExpr extends Node {
  readonly kind: "missing";
}

export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr
  | MissingExpr;

/** The accumulator that macros use; no expression can spell it. */
export const accumulatorName = "@result";
/** The accumulator's name before it was hidden; macros still refuse it as a variable. */
export const oldAccumulatorName = "__result__";

/** Calls `visit` for a node and everything below it, parents first. */
export function walk(expr: Expr, visit: (expr: Expr, parents: readonly Expr[]) => void): void {
  const parents: Expr[] = [];
  const go = (node: Expr): void => {
    visit(node, parents);
    parents.push(node);
    for (const child of children(node)) go(child);
    parents.pop();
  };
  go(expr);
}

export function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
    case "call":
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case "struct":
      return expr.fields.map((field) => field.value);
    case "comprehension":
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** `a.b.c` for a chain of plain selects on an identifier. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.testOnly) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}
