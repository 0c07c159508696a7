/** Makes nodes with ids of their own, each with a place in the text. */
import { accumulatorName, type ComprehensionExpr, type Expr } from "./ast.ts";
import { CelError } from "./errors.ts";
import type { MacroBuilder } from "./macro.ts";

/** A macro matched a call whose argument it cannot take. */
export class MacroFailure extends CelError {
  /** The argument. */
  readonly id: number;

  constructor(id: number, message: string) {
    super("syntax", message);
    this.id = id;
  }
}

export function callNode(id: number, fn: string, args: readonly Expr[]): Expr {
  return { kind: "call", id, fn, target: undefined, args };
}

export class NodeFactory {
  /** The offset of each node, by id; ids start at 1. */
  readonly #offsets: number[] = [0];

  id(offset: number): number {
    return this.#offsets.push(offset) - 1;
  }

  offset(id: number): number {
    return this.#offsets[id] ?? 0;
  }

  /** Builds the expansion of a macro called at an offset. */
  macroBuilder(offset: number): MacroBuilder {
    const id = () => this.id(offset);
    return {
      literal: (value) => ({ kind: "literal", id: id(), value }),
      ident: (name) => ({ kind: "ident", id: id(), name }),
      accumulator: () => ({ kind: "ident", id: id(), name: accumulatorName }),
      call: (fn, ...args) => callNode(id(), fn, args),
      memberCall: (fn, target, ...args) => ({ kind: "call", id: id(), fn, target, args }),
      presence: (operand, field) => ({ kind: "select", id: id(), operand, field, testOnly: true }),
      list: (...elements) => ({ kind: "list", id: id(), elements, optional: [] }),
      map: (...entries) => ({ kind: "map", id: id(), entries }),
      comprehension: (parts: Omit<ComprehensionExpr, "id" | "kind">) => ({
        kind: "comprehension",
        id: id(),
        ...parts,
      }),
      copy: (expr) => this.copy(expr),
      fail: (at, message) => {
        throw new MacroFailure(at.id, message);
      },
    };
  }

  /** The same tree with new ids at the same places. */
  copy(expr: Expr): Expr {
    const id = this.#again(expr.id);
    const copy = (child: Expr): Expr => this.copy(child);
    switch (expr.kind) {
      case "select":
        return { ...expr, id, operand: copy(expr.operand) };
      case "call":
        return {
          ...expr,
          id,
          target: expr.target === undefined ? undefined : copy(expr.target),
          args: expr.args.map(copy),
        };
      case "list":
        return { ...expr, id, elements: expr.elements.map(copy) };
      case "map":
        return {
          ...expr,
          id,
          entries: expr.entries.map((entry) => ({
            ...entry,
            id: this.#again(entry.id),
            key: copy(entry.key),
            value: copy(entry.value),
          })),
        };
      case "struct":
        return {
          ...expr,
          id,
          fields: expr.fields.map((field) => ({
            ...field,
            id: this.#again(field.id),
            value: copy(field.value),
          })),
        };
      case "comprehension":
        return {
          ...expr,
          id,
          range: copy(expr.range),
          accuInit: copy(expr.accuInit),
          condition: copy(expr.condition),
          step: copy(expr.step),
          result: copy(expr.result),
        };
      default:
        return { ...expr, id };
    }
  }

  #again(id: number): number {
    return this.id(this.offset(id));
  }
}
