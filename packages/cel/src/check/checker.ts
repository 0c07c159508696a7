/** Infers and checks the type of every node of an expression. */
import type {
  CallExpr,
  ComprehensionExpr,
  Expr,
  ListExpr,
  MapExpr,
  SelectExpr,
  StructExpr,
} from "../syntax/ast.ts";
import { qualifiedName } from "../syntax/ast.ts";
import { CelIssues } from "../syntax/errors.ts";
import type { ParsedExpr } from "../syntax/parser.ts";
import {
  type CelType,
  formatSignature,
  formatType,
  isDynOrError,
  listType,
  mapType,
  optionalType,
  paramType,
  sameType,
  types,
} from "../values/types.ts";
import { type CelValue, TypeValue, typeOf } from "../values/values.ts";
import type { Environment } from "./environment.ts";
import type { FunctionDecl, Overload } from "./functions.ts";
import { mostGeneral, Substitution, unwrapOptional } from "./unify.ts";

/** What a node turned out to refer to. */
export type Reference =
  | { readonly kind: "ident"; readonly name: string; readonly value?: CelValue }
  | {
      readonly kind: "call";
      readonly fn: FunctionDecl;
      /** Those that the argument types allow; evaluation picks among several by the values. */
      readonly overloads: readonly Overload[];
      /** The call's target is part of the function's name: `math.greatest(…)`. */
      readonly namespaced: boolean;
    };

export interface CheckedExpr extends ParsedExpr {
  readonly environment: Environment;
  readonly resultType: CelType;
  typeOf(id: number): CelType;
  reference(id: number): Reference | undefined;
}

export function check(parsed: ParsedExpr, environment: Environment): CheckedExpr | CelIssues {
  const checker = new Checker(parsed, environment);
  return checker.run();
}

class Checker {
  readonly #parsed: ParsedExpr;
  readonly #env: Environment;
  readonly #issues: CelIssues;
  readonly #types = new Map<number, CelType>();
  readonly #references = new Map<number, Reference>();
  readonly #subs = new Substitution();
  /** Variables of the comprehensions around the node, innermost last. */
  readonly #locals: [string, CelType][] = [];
  #freshCount = 0;

  constructor(parsed: ParsedExpr, environment: Environment) {
    this.#parsed = parsed;
    this.#env = environment;
    this.#issues = new CelIssues(parsed.source);
  }

  run(): CheckedExpr | CelIssues {
    this.#check(this.#parsed.expr);
    if (this.#issues.count > 0) return this.#issues;
    for (const [id, type] of this.#types) this.#types.set(id, this.#subs.apply(type, true));
    const types_ = this.#types;
    const references = this.#references;
    return {
      ...this.#parsed,
      environment: this.#env,
      resultType: types_.get(this.#parsed.expr.id) ?? types.dyn,
      typeOf: (id) => types_.get(id) ?? types.dyn,
      reference: (id) => references.get(id),
    };
  }

  #check(expr: Expr): CelType {
    const type = this.#infer(expr);
    this.#types.set(expr.id, type);
    return type;
  }

  #infer(expr: Expr): CelType {
    switch (expr.kind) {
      case "literal":
        return typeOf(expr.value);
      case "ident":
        return this.#ident(expr.id, expr.name) ?? this.#undeclared(expr.id, expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return this.#comprehension(expr);
      case "missing":
        return types.error;
    }
  }

  #ident(id: number, name: string): CelType | undefined {
    const plain = name.startsWith(".") ? name.slice(1) : name;
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const [local, type] = this.#locals[i] as [string, CelType];
      if (local === plain) {
        this.#references.set(id, { kind: "ident", name: plain });
        return type;
      }
    }
    const found = this.#env.ident(name);
    if (found === undefined) return undefined;
    this.#references.set(id, {
      kind: "ident",
      name: found.name,
      ...(found.value && { value: new TypeValue(found.value) }),
    });
    return found.type;
  }

  #undeclared(id: number, name: string): CelType {
    this.#report(id, `undeclared reference to '${name}' (in container '${this.#env.container}')`);
    return types.error;
  }

  #select(expr: SelectExpr): CelType {
    // `a.b.c` may be one variable's name rather than a path of fields.
    const name = expr.testOnly ? undefined : qualifiedName(expr);
    if (name !== undefined) {
      const type = this.#ident(expr.id, name);
      if (type !== undefined) return type;
    }
    const type = this.#field(expr.id, expr.operand, expr.field, false);
    return expr.testOnly ? types.bool : this.#subs.apply(type, false);
  }

  #field(id: number, operand: Expr, field: string, optional: boolean): CelType {
    const operandType = this.#subs.apply(this.#check(operand), false);
    const target = unwrapOptional(operandType);
    const type = this.#fieldType(id, target.type, field);
    return target.wasOptional || optional ? optionalType(type) : type;
  }

  #fieldType(id: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case "map":
        return target.params[1] as CelType;
      case "object":
        return this.#objectField(id, target.name, field) ?? types.error;
      case "param":
        // Whatever this is, it has fields: settle on dyn before something narrower does.
        this.#subs.isAssignable(types.dyn, target);
        return types.dyn;
      default:
        if (!isDynOrError(target)) {
          this.#report(id, `type '${formatType(target)}' does not support field selection`);
        }
        return types.dyn;
    }
  }

  #objectField(id: number, name: string, field: string): CelType | undefined {
    const object = this.#env.object(name);
    if (object === undefined) {
      this.#report(id, `unexpected failed resolution of '${name}'`);
      return undefined;
    }
    const type = object.fields.get(field);
    if (type === undefined) this.#report(id, `undefined field '${field}'`);
    return type;
  }

  #call(expr: CallExpr): CelType {
    if (expr.fn === "_?._") return this.#optionalSelect(expr);
    const args = expr.args.map((arg) => this.#check(arg));
    if (expr.target === undefined) {
      const fn = this.#env.function(expr.fn);
      if (fn === undefined) return this.#undeclared(expr.id, expr.fn);
      return this.#resolve(expr, fn, undefined, args, false);
    }
    const prefix = qualifiedName(expr.target);
    const namespaced = prefix === undefined ? undefined : this.#env.function(`${prefix}.${expr.fn}`);
    if (namespaced !== undefined) return this.#resolve(expr, namespaced, undefined, args, true);
    const target = this.#check(expr.target);
    const fn = this.#env.function(expr.fn);
    if (fn === undefined) return this.#undeclared(expr.id, expr.fn);
    return this.#resolve(expr, fn, target, args, false);
  }

  #optionalSelect(expr: CallExpr): CelType {
    const [operand, field] = expr.args;
    const fn = this.#env.function("_?._");
    if (operand === undefined || field?.kind !== "literal" || typeof field.value !== "string" || !fn) {
      this.#report(expr.id, "unsupported optional field selection");
      return types.error;
    }
    const type = this.#field(expr.id, operand, field.value, true);
    this.#references.set(expr.id, { kind: "call", fn, overloads: fn.overloads, namespaced: false });
    return this.#subs.apply(type, false);
  }

  #resolve(
    expr: CallExpr,
    fn: FunctionDecl,
    target: CelType | undefined,
    args: readonly CelType[],
    namespaced: boolean,
  ): CelType {
    if (fn.name === "_&&_" || fn.name === "_||_") return this.#logic(expr, fn, args);
    const actual = target === undefined ? args : [target, ...args];
    const matching: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of fn.overloads) {
      if (overload.member !== (target !== undefined)) continue;
      const fresh = this.#instantiate(overload);
      if (!this.#subs.areAssignable(actual, fresh.params)) continue;
      matching.push(overload);
      const type = this.#subs.apply(fresh.result, false);
      if (result === undefined) result = type;
      else if (result.kind !== "dyn" && !sameType(type, result)) result = types.dyn;
    }
    if (result === undefined) {
      const known = actual.map((type) => this.#subs.apply(type, true));
      const signature = formatSignature(known, target !== undefined);
      this.#report(expr.id, `found no matching overload for '${fn.name}' applied to '${signature}'`);
      return types.error;
    }
    this.#references.set(expr.id, { kind: "call", fn, overloads: matching, namespaced });
    return result;
  }

  #logic(expr: CallExpr, fn: FunctionDecl, args: readonly CelType[]): CelType {
    let failed = false;
    for (const [i, type] of args.entries()) {
      if (this.#subs.isAssignable(type, types.bool)) continue;
      this.#mismatch((expr.args[i] as Expr).id, types.bool, type);
      failed = true;
    }
    if (failed) return types.error;
    this.#references.set(expr.id, { kind: "call", fn, overloads: fn.overloads, namespaced: false });
    return types.bool;
  }

  /** An overload's signature with type parameters that no other call shares. */
  #instantiate(overload: Overload): { params: readonly CelType[]; result: CelType } {
    const fresh = new Map<string, CelType>();
    const rename = (type: CelType): CelType => {
      if (type.kind === "param") {
        const known = fresh.get(type.name);
        if (known !== undefined) return known;
        const made = this.#fresh();
        fresh.set(type.name, made);
        return made;
      }
      return type.params.length === 0 ? type : { ...type, params: type.params.map(rename) };
    };
    return { params: overload.params.map(rename), result: rename(overload.result) };
  }

  #list(expr: ListExpr): CelType {
    let element: CelType | undefined;
    for (const [i, item] of expr.elements.entries()) {
      const type = this.#check(item);
      element = this.#join(element, expr.optional.includes(i) ? this.#unwrapped(item.id, type) : type);
    }
    return listType(element ?? this.#fresh());
  }

  #map(expr: MapExpr): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(key, this.#check(entry.key));
      const type = this.#check(entry.value);
      value = this.#join(value, entry.optional ? this.#unwrapped(entry.value.id, type) : type);
    }
    return mapType(key ?? this.#fresh(), value ?? this.#fresh());
  }

  /** The value type of an entry written with a question mark. */
  #unwrapped(id: number, type: CelType): CelType {
    const inner = unwrapOptional(type);
    const isDyn = type.kind === "dyn" || type.kind === "any";
    if (!inner.wasOptional && !isDyn) this.#mismatch(id, optionalType(type), type);
    return inner.type;
  }

  #struct(expr: StructExpr): CelType {
    const found = this.#env.ident(expr.typeName);
    if (found === undefined) return this.#undeclared(expr.id, expr.typeName);
    if (found.value === undefined) {
      this.#report(expr.id, `'${found.name}' is not a type`);
      return types.error;
    }
    if (found.value.kind !== "object") {
      this.#report(expr.id, `'${found.name}' is not a message type`);
      return types.error;
    }
    this.#references.set(expr.id, { kind: "ident", name: found.name });
    for (const field of expr.fields) {
      const type = this.#check(field.value);
      const declared = this.#objectField(field.id, found.name, field.name) ?? types.error;
      const given = field.optional ? this.#unwrapped(field.value.id, type) : type;
      if (!this.#subs.isAssignable(declared, given)) {
        this.#report(
          field.id,
          `expected type of field '${field.name}' is '${formatType(declared)}' ` +
            `but provided type is '${formatType(given)}'`,
        );
      }
    }
    return found.value;
  }

  #comprehension(expr: ComprehensionExpr): CelType {
    const range = this.#subs.apply(this.#check(expr.range), false);
    const accu = this.#check(expr.accuInit);
    const [first, second] = this.#iterated(expr, range);
    this.#locals.push([expr.accuVar, accu]);
    const depth = this.#locals.length;
    this.#locals.push([expr.iterVar, first]);
    if (expr.iterVar2 !== undefined) this.#locals.push([expr.iterVar2, second]);
    this.#assert(expr.condition, types.bool);
    this.#assert(expr.step, accu);
    this.#locals.length = depth;
    const result = this.#check(expr.result);
    this.#locals.length = depth - 1;
    return this.#subs.apply(result, false);
  }

  /** The types of the one or two iteration variables. */
  #iterated(expr: ComprehensionExpr, range: CelType): [CelType, CelType] {
    const two = expr.iterVar2 !== undefined;
    switch (range.kind) {
      case "list": {
        const element = range.params[0] as CelType;
        return two ? [types.int, element] : [element, element];
      }
      case "map":
        return [range.params[0] as CelType, range.params[1] as CelType];
      case "dyn":
      case "any":
      case "error":
      case "param":
        this.#subs.isAssignable(types.dyn, range);
        return [types.dyn, types.dyn];
      default:
        this.#report(
          expr.range.id,
          `expression of type '${formatType(range)}' cannot be range of a comprehension ` +
            "(must be list, map, or dynamic)",
        );
        return [types.error, types.error];
    }
  }

  #assert(expr: Expr, expected: CelType): void {
    const type = this.#check(expr);
    if (!this.#subs.isAssignable(expected, type)) this.#mismatch(expr.id, expected, type);
  }

  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    return this.#subs.isAssignable(previous, current) ? mostGeneral(previous, current) : types.dyn;
  }

  #fresh(): CelType {
    return paramType(`_var${this.#freshCount++}`);
  }

  #mismatch(id: number, expected: CelType, actual: CelType): void {
    this.#report(id, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  }

  #report(id: number, message: string): void {
    this.#issues.report(this.#parsed.location(id), message);
  }
}
