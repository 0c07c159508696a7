/** How a macro rewrites a call into plain syntax while parsing. */

import type { CelValue } from "../values/values.ts";
import type { ComprehensionExpr, Expr, MapEntry } from "./ast.ts";

/** What an expansion builds with; every node it makes is placed where the call stands. */
export interface MacroBuilder {
  literal(value: CelValue): Expr;
  ident(name: string): Expr;
  /** The accumulator variable. */
  accumulator(): Expr;
  call(fn: string, ...args: Expr[]): Expr;
  memberCall(fn: string, target: Expr, ...args: Expr[]): Expr;
  presence(operand: Expr, field: string): Expr;
  list(...elements: Expr[]): Expr;
  map(...entries: MapEntry[]): Expr;
  comprehension(parts: Omit<ComprehensionExpr, "id" | "kind">): Expr;
  /** The same tree with ids of its own, for an argument that is needed twice. */
  copy(expr: Expr): Expr;
  /** Reports that the call matched but an argument is not what the macro takes. */
  fail(at: Expr, message: string): never;
}

export interface Macro {
  readonly fn: string;
  readonly argCount: number;
  /** True for `target.fn(…)`. */
  readonly receiver: boolean;
  /** Undefined leaves the call as it is. */
  expand(build: MacroBuilder, target: Expr, args: readonly Expr[]): Expr | undefined;
}

export function macroKey(fn: string, argCount: number, receiver: boolean): string {
  return `${fn}:${argCount}:${receiver}`;
}
