/** The range of what a checked expression can cost, from the sizes that its literals and the schema promise. */
import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr } from "../syntax/ast.ts";
import { accumulatorName, oldAccumulatorName } from "../syntax/ast.ts";
import { codePointLength } from "../values/code-points.ts";
import {
  type CostRange,
  fixed,
  noCost,
  plus,
  type SizeRange,
  times,
  unbounded,
  union,
  unknownSize,
} from "../values/cost-range.ts";
import { type CelType, isOptionalType } from "../values/types.ts";
import type { CheckedExpr } from "./checker.ts";
import { type CostNode, listCreateCost, mapCreateCost, type SizeHints, structCreateCost } from "./cost.ts";
import type { CallEstimate, EstimatedCall, FunctionDecl, Overload } from "./functions.ts";

/** Hints give the size of what a path of fields leads to; without them, data may be of any size. */
export function estimateCost(checked: CheckedExpr, hints: SizeHints = () => undefined): CostRange {
  return new Estimator(checked, hints).cost(checked.expr);
}

/** The sizes of what is inside a list or map. */
interface EntrySize {
  readonly container: "list" | "map";
  readonly key: SizeRange;
  readonly value: SizeRange;
}

interface LocalVariable {
  readonly path: readonly string[];
  readonly size: SizeRange | undefined;
  readonly entry: EntrySize | undefined;
}

/** An empty range, for a union to grow from. */
const nothing: CostRange = { min: unbounded, max: 0 };

class Estimator {
  readonly #checked: CheckedExpr;
  readonly #hints: SizeHints;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, SizeRange>();
  readonly #entries = new Map<number, EntrySize>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: CheckedExpr, hints: SizeHints) {
    this.#checked = checked;
    this.#hints = hints;
  }

  cost(expr: Expr): CostRange {
    switch (expr.kind) {
      case "ident":
        return this.#ident(expr.id, expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return expr.fields.reduce((sum, field) => plus(sum, this.cost(field.value)), fixed(structCreateCost));
      case "comprehension":
        return isBind(expr) ? this.#bind(expr) : this.#loop(expr);
      default:
        return noCost;
    }
  }

  #ident(id: number, name: string): CostRange {
    this.#paths.set(id, this.#local(name)?.path ?? [name]);
    return fixed(1);
  }

  #select(expr: SelectExpr): CostRange {
    const reference = this.#checked.reference(expr.id);
    if (reference?.kind === "ident") return this.#ident(expr.id, reference.name);
    const operand = this.cost(expr.operand);
    if (expr.testOnly) return this.#checked.environment.freePresenceTests ? operand : plus(operand, fixed(1));
    this.#paths.set(expr.id, [...this.#path(expr.operand), expr.field]);
    const { kind } = this.#checked.typeOf(expr.operand.id);
    return kind === "map" || kind === "object" || kind === "param" ? plus(operand, fixed(1)) : operand;
  }

  #call(expr: CallExpr): CostRange {
    const reference = this.#checked.reference(expr.id);
    if (reference?.kind !== "call") return noCost;
    if (reference.fn.name === "dyn") return this.#dyn(expr);
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#node(arg));
    let sum = noCost;
    let target: CostNode | undefined;
    if (expr.target !== undefined && !reference.namespaced) {
      sum = this.cost(expr.target);
      target = this.#node(expr.target);
    }
    let total = nothing;
    let resultSize: SizeRange | undefined;
    for (const overload of reference.overloads) {
      const estimate = this.#overload(expr, reference.fn, overload, target, args, argCosts);
      total = union(total, estimate);
      if (estimate.resultSize !== undefined) {
        resultSize = resultSize === undefined ? estimate.resultSize : union(resultSize, estimate.resultSize);
      }
      const inside = overload.id === "index_list" ? "@items" : overload.id === "index_map" ? "@values" : "";
      const [container] = expr.args;
      if (inside !== "" && container !== undefined) {
        resultSize = this.#entry(container)?.value;
        this.#paths.set(expr.id, [...this.#path(container), inside]);
      }
      resultSize ??= this.#size(expr);
    }
    if (resultSize !== undefined) this.#sizes.set(expr.id, resultSize);
    return plus(sum, total);
  }

  /** `dyn(x)` only hides a type: what is known of x stays known. */
  #dyn(expr: CallExpr): CostRange {
    const [arg] = expr.args;
    if (arg === undefined) return noCost;
    const cost = plus(fixed(1), this.cost(arg));
    this.#copySizes(expr, arg);
    return cost;
  }

  #overload(
    expr: CallExpr,
    fn: FunctionDecl,
    overload: Overload,
    target: CostNode | undefined,
    args: readonly CostNode[],
    argCosts: readonly CostRange[],
  ): CallEstimate {
    const call: EstimatedCall = {
      target,
      args,
      overload: overload.id,
      size: (node) => node.size ?? this.#hints(node) ?? unknownSize,
    };
    const [first, second, third] = argCosts as [CostRange, CostRange, CostRange];
    switch (overload.id) {
      case "logical_and":
      case "logical_or":
        return { min: first.min, max: plus(first, second).max };
      case "conditional": {
        const [, yes, no] = expr.args as [Expr, Expr, Expr];
        const resultSize = union(this.#size(yes) ?? unknownSize, this.#size(no) ?? unknownSize);
        this.#setEntry(expr, unionEntries(this.#entry(yes), this.#entry(no)));
        return { ...plus(first, union(second, third)), resultSize };
      }
      case "add_string":
      case "add_bytes":
      case "add_list": {
        const [left, right] = expr.args as [Expr, Expr];
        this.#setEntry(expr, unionEntries(this.#entry(left), this.#entry(right)));
      }
    }
    const own: CallEstimate = overload.cost?.estimate?.(call) ?? fn.cost?.estimate?.(call) ?? fixed(1);
    return { ...argCosts.reduce(plus, own), resultSize: own.resultSize };
  }

  #list(expr: ListExpr): CostRange {
    let value = expr.elements.length === 0 ? noCost : nothing;
    let sum = fixed(listCreateCost);
    for (const element of expr.elements) {
      sum = plus(sum, this.cost(element));
      value = union(value, this.#size(element) ?? unknownSize);
    }
    this.#setEntry(expr, { container: "list", key: fixed(1), value });
    return sum;
  }

  #map(expr: MapExpr): CostRange {
    let key = expr.entries.length === 0 ? noCost : nothing;
    let value = key;
    let sum = fixed(mapCreateCost);
    for (const entry of expr.entries) {
      sum = plus(plus(sum, this.cost(entry.key)), this.cost(entry.value));
      key = union(key, this.#size(entry.key) ?? unknownSize);
      value = union(value, this.#size(entry.value) ?? unknownSize);
    }
    this.#setEntry(expr, { container: "map", key, value });
    return sum;
  }

  #loop(expr: ComprehensionExpr): CostRange {
    let sum = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#pushAccumulator(expr);
    const variables = this.#pushIteration(expr);
    const turn = plus(this.cost(expr.condition), this.cost(expr.step));
    for (const name of variables) this.#locals.get(name)?.pop();
    sum = plus(sum, this.cost(expr.result));
    this.#locals.get(expr.accuVar)?.pop();
    const count = this.#size(expr.range) ?? unknownSize;
    sum = plus(sum, times(count, turn));
    if (expr.accuInit.kind === "literal") {
      const size = this.#size(expr.accuInit);
      if (size !== undefined) this.#sizes.set(expr.id, size);
    } else if (expr.accuInit.kind === "list" || expr.accuInit.kind === "map") {
      this.#sizes.set(expr.id, count);
      this.#setEntry(expr, this.#entry(expr.step));
    }
    return sum;
  }

  #bind(expr: ComprehensionExpr): CostRange {
    const sum = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#pushAccumulator(expr);
    const total = plus(sum, this.cost(expr.result));
    this.#locals.get(expr.accuVar)?.pop();
    this.#copySizes(expr, expr.result);
    return total;
  }

  #pushAccumulator(expr: ComprehensionExpr): void {
    this.#push(expr.accuVar, {
      path: this.#path(expr.accuInit),
      size: this.#size(expr.accuInit),
      entry: this.#entry(expr.accuInit),
    });
  }

  /** Returns the names it pushed. */
  #pushIteration(expr: ComprehensionExpr): string[] {
    const entry = this.#entry(expr.range);
    const path = this.#path(expr.range);
    const isList = (entry?.container ?? this.#checked.typeOf(expr.range.id).kind) === "list";
    const variable = (inside: string, size: SizeRange | undefined): LocalVariable => ({
      path: [...path, inside],
      size,
      entry: undefined,
    });
    const value = variable(isList ? "@items" : "@values", entry?.value);
    if (expr.iterVar2 === undefined) {
      this.#push(expr.iterVar, isList ? value : variable("@keys", entry?.key));
      return [expr.iterVar];
    }
    this.#push(expr.iterVar, variable(isList ? "@indices" : "@keys", entry?.key));
    this.#push(expr.iterVar2, value);
    return [expr.iterVar, expr.iterVar2];
  }

  #push(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack === undefined) this.#locals.set(name, [variable]);
    else stack.push(variable);
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #node(expr: Expr): CostNode {
    const path = this.#path(expr);
    // An accumulator is no variable of the environment: its path leads nowhere.
    const [root] = path;
    const inner = root === accumulatorName || root === oldAccumulatorName;
    return {
      path: inner || path.length === 0 ? undefined : path,
      type: this.#checked.typeOf(expr.id),
      expr,
      size: this.#size(expr),
    };
  }

  #path(expr: Expr): readonly string[] {
    if (expr.kind === "ident") {
      const local = this.#local(expr.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expr.id) ?? [];
  }

  #size(expr: Expr): SizeRange | undefined {
    const known = this.#sizes.get(expr.id) ?? literalSize(expr);
    if (known !== undefined) return known;
    const type = this.#checked.typeOf(expr.id);
    const path = this.#path(expr);
    const hinted = this.#hints({ path, type, expr, size: undefined });
    if (hinted !== undefined) {
      this.#sizes.set(expr.id, hinted);
      return hinted;
    }
    if (isScalar(type)) return fixed(1);
    return expr.kind === "ident" ? this.#local(expr.name)?.size : undefined;
  }

  #entry(expr: Expr): EntrySize | undefined {
    const known = this.#entries.get(expr.id);
    if (known !== undefined) return known;
    return expr.kind === "ident" ? this.#local(expr.name)?.entry : undefined;
  }

  #setEntry(expr: Expr, entry: EntrySize | undefined): void {
    if (entry !== undefined) this.#entries.set(expr.id, entry);
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to.id, size);
    this.#setEntry(to, this.#entry(from));
  }
}

function unionEntries(a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { container: a.container, key: union(a.key, b.key), value: union(a.value, b.value) };
}

function isBind(expr: ComprehensionExpr): boolean {
  return (
    expr.range.kind === "list" &&
    expr.range.elements.length === 0 &&
    expr.condition.kind === "literal" &&
    expr.condition.value === false &&
    expr.accuVar !== oldAccumulatorName
  );
}

function literalSize(expr: Expr): SizeRange | undefined {
  switch (expr.kind) {
    case "literal":
      if (typeof expr.value === "string") return fixed(codePointLength(expr.value));
      return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1);
    case "list":
      return fixed(expr.elements.length);
    case "map":
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

function isScalar(type: CelType): boolean {
  switch (type.kind) {
    case "bool":
    case "double":
    case "duration":
    case "int":
    case "timestamp":
    case "uint":
      return true;
    default:
      return isOptionalType(type) && isScalar(type.params[0] as CelType);
  }
}
