/** CEL as TypeScript, where that means exactly the same; everything else stays CEL. */
import { type CelType, Double, type Program } from "@keelson/cel";
import type { Expr } from "@keelson/cel/internal";
import type { StructuralSchema } from "@keelson/schema";
import { accessOf, codeOf, isName, templateText } from "./code.ts";

/** What stands for a variable of an expression. */
export interface Variable {
  /** A name, which is never undefined. */
  readonly code: string;
  /**
   * `instance`: an object whose spec has this schema. `typed`: an object whose type TypeScript knows. `list`: such
   * objects. `value`: itself.
   */
  readonly shape: "instance" | "typed" | "list" | "value";
  readonly spec?: StructuralSchema;
}

export interface Translated {
  readonly code: string;
  /** Gives a value whatever the cluster holds; otherwise it may throw Pending. */
  readonly total: boolean;
  /** Helpers that it calls. */
  readonly helpers: ReadonlySet<string>;
}

/** Undefined where TypeScript has no exact form for it. */
export function translate(
  program: Program,
  variables: ReadonlyMap<string, Variable>,
): Translated | undefined {
  const translator = new Translator(program, variables);
  const term = translator.visit(program.checked.expr);
  if (!term || !isPlain(term.type)) return undefined;
  const code = translator.value(term);
  return { code, total: translator.isTotal(term), helpers: translator.helpers };
}

/** Part of a translated expression. */
interface Term {
  readonly code: string;
  readonly type: CelType;
  /** As the definition writes it. */
  readonly path?: string;
  /** May be undefined: the path is what is not there then. */
  readonly what?: string;
  /** Everything below gives a value. */
  readonly total: boolean;
  /** Of a conversion to text: what is converted. */
  readonly inner?: string;
  /** Needs parentheses beside an operator. */
  readonly compound?: boolean;
  readonly at?: Place;
}

/** Where a term is in an object, as far as the presence of its fields is known. */
type Place =
  | { readonly in: "instance" | "object" | "metadata" | "fields" }
  | { readonly in: "spec"; readonly schema: StructuralSchema };

const scalars = new Set(["string", "int", "bool"]);

/** JSON that CEL gives back as it is. */
function isPlain({ kind, params }: CelType): boolean {
  if (scalars.has(kind) || kind === "double" || kind === "dyn") return true;
  return (kind === "list" || kind === "map") && params.every((each) => isPlain(each));
}

class Translator {
  readonly helpers = new Set<string>();
  readonly #program: Program;
  readonly #variables: ReadonlyMap<string, Variable>;

  constructor(program: Program, variables: ReadonlyMap<string, Variable>) {
    this.#program = program;
    this.#variables = variables;
  }

  /** The code of a value that is there. */
  value({ code, what }: Term): string {
    if (what === undefined) return code;
    this.helpers.add("need");
    return `need(${code}, ${codeOf(what)})`;
  }

  isTotal({ total, what }: Term): boolean {
    return total && what === undefined;
  }

  visit(expr: Expr): Term | undefined {
    const type = this.#program.checked.typeOf(expr.id);
    switch (expr.kind) {
      case "literal":
        return literal(expr.value, type);
      case "ident":
        return this.#ident(expr.name, type);
      case "select":
        return expr.testOnly
          ? this.#has(expr.operand, expr.field, type)
          : this.#field(this.visit(expr.operand), expr.field, type);
      case "list":
        return this.#list(expr, type);
      case "map":
        return this.#map(expr, type);
      case "call":
        return this.#call(expr, type);
      default:
        return undefined;
    }
  }

  #ident(name: string, type: CelType): Term | undefined {
    const variable = this.#variables.get(name);
    if (!variable) return undefined;
    const { code, shape } = variable;
    if (shape === "value") return isPlain(type) ? { code, path: name, type, total: true } : undefined;
    if (shape === "list") return { code, path: name, type, total: true };
    return { code, path: name, type, total: true, at: { in: shape === "instance" ? "instance" : "object" } };
  }

  #field(operand: Term | undefined, field: string, type: CelType): Term | undefined {
    // Names that CEL cannot spell are escaped in it.
    if (!operand || field.includes("__") || operand.type.kind === "dyn") return undefined;
    const isKnown = operand.at !== undefined || operand.type.kind === "map";
    if (!isKnown) return undefined;
    const { present, at } = this.#below(operand, field);
    const code = `${operand.code}${accessOf(field, operand.what !== undefined)}`;
    const path = `${operand.path ?? operand.code}${isName(field) ? `.${field}` : `[${codeOf(field)}]`}`;
    const isThere = present && operand.what === undefined;
    return {
      ...{ code, path, type, total: operand.total },
      ...(isThere ? {} : { what: path }),
      ...(at ? { at } : {}),
    };
  }

  /** What is known of a field: whether it is there, and what of its own fields. */
  #below({ at }: Term, field: string): { present: boolean; at?: Place } {
    if (at?.in === "instance" && field === "spec") {
      const [variable] = [...this.#variables.values()].filter(({ shape }) => shape === "instance");
      return { present: true, at: { in: "spec", schema: variable?.spec ?? {} } };
    }
    if ((at?.in === "instance" || at?.in === "object") && field === "metadata") {
      return { present: true, at: { in: "metadata" } };
    }
    if (at?.in === "metadata") return { present: field === "name" || field === "uid" };
    if (at?.in === "object" || at?.in === "fields") return { present: false, at: { in: "fields" } };
    if (at?.in !== "spec") return { present: false };
    const schema = at.schema.properties?.[field];
    if (!schema) return { present: false };
    const present = schema.default !== undefined || (at.schema.required?.includes(field) ?? false);
    return { present, ...(schema.properties ? { at: { in: "spec", schema } } : {}) };
  }

  #has(operand: Expr, field: string, type: CelType): Term | undefined {
    const inside = this.visit(operand);
    const found = inside && this.#field({ ...inside, code: this.value(inside) }, field, type);
    if (!inside || !found) return undefined;
    const code = `${this.value(inside)}${accessOf(field, false)} !== undefined`;
    return { code, type, total: this.isTotal(inside), compound: true };
  }

  #list(expr: Expr & { kind: "list" }, type: CelType): Term | undefined {
    if (expr.optional.length > 0) return undefined;
    return this.#gathered(expr.elements, type, (codes) => `[${codes.join(", ")}]`);
  }

  #map(expr: Expr & { kind: "map" }, type: CelType): Term | undefined {
    const names = expr.entries.map(({ key }) => (key.kind === "literal" ? key.value : undefined));
    if (expr.entries.some(({ optional }) => optional) || names.some((name) => typeof name !== "string")) {
      return undefined;
    }
    const values = expr.entries.map(({ value }) => value);
    const entry = (code: string, index: number) => `${codeOf(names[index] as string)}: ${code}`;
    return this.#gathered(values, type, (codes) => `{ ${codes.map(entry).join(", ")} }`);
  }

  #gathered(parts: readonly Expr[], type: CelType, write: (codes: string[]) => string): Term | undefined {
    const terms: Term[] = [];
    for (const part of parts) {
      const term = this.visit(part);
      if (!term || !isPlain(term.type)) return undefined;
      terms.push(term);
    }
    const codes = terms.map((term) => this.value(term));
    return { code: write(codes), type, total: terms.every((term) => this.isTotal(term)) };
  }

  #call(expr: Expr & { kind: "call" }, type: CelType): Term | undefined {
    const { fn, args, target } = expr;
    if (target !== undefined) return this.#method(fn, target, args, type);
    if (fn === "_?_:_") return this.#choice(args, type);
    if (fn === "_[_]") return this.#index(args, type);
    if (fn === "_+_" && type.kind === "string") return this.#text(expr, type);
    const terms = args.map((arg) => this.visit(arg));
    if (terms.some((term) => term === undefined)) return undefined;
    return this.#operator(fn, terms as Term[], type);
  }

  #operator(fn: string, terms: readonly Term[], type: CelType): Term | undefined {
    const [left, right] = terms;
    const kinds = new Set(terms.map((term) => term.type.kind));
    const same = kinds.size === 1 ? [...kinds][0] : undefined;
    const total = terms.every((term) => this.isTotal(term));
    const joined = (operator: string): Term => ({
      code: terms.map((term) => this.#operand(term)).join(` ${operator} `),
      ...{ type, total, compound: true },
    });
    switch (fn) {
      case "_==_":
      case "_!=_":
        return same !== undefined && scalars.has(same) ? joined(fn === "_==_" ? "===" : "!==") : undefined;
      case "_<_":
      case "_<=_":
      case "_>_":
      case "_>=_":
        // Texts are compared by code points there and by code units here.
        return same === "int" ? joined(fn.slice(1, -1)) : undefined;
      case "_&&_":
      case "_||_":
        // There, one side decides although the other is not known yet.
        return total && same === "bool" ? joined(fn.slice(1, -1)) : undefined;
      case "_+_":
      case "_-_":
      case "_*_":
        if (same !== "int" || type.kind !== "int") return undefined;
        this.helpers.add("int");
        return { code: `int(${joined(fn.slice(1, -1)).code})`, type, total: false };
      case "!_":
        return left?.type.kind === "bool" ? { code: `!${this.#operand(left)}`, type, total } : undefined;
      case "string":
        if (same === undefined || !scalars.has(same) || !left) return undefined;
        if (same === "string") return left;
        return { code: `String(${this.value(left)})`, inner: this.value(left), type, total };
      case "size":
        return left?.type.kind === "list"
          ? { code: `${this.#operand(left)}.length`, type, total }
          : undefined;
      case "@in":
        if (!left || right?.type.kind !== "list" || !scalars.has(left.type.kind)) return undefined;
        if (right.type.params[0]?.kind !== left.type.kind) return undefined;
        return { code: `${this.#operand(right)}.includes(${this.value(left)})`, type, total };
      default:
        return undefined;
    }
  }

  #operand(term: Term): string {
    return term.compound && term.what === undefined ? `(${term.code})` : this.value(term);
  }

  #choice(args: readonly Expr[], type: CelType): Term | undefined {
    const terms = args.map((arg) => this.visit(arg));
    const [condition, yes, no] = terms;
    if (!condition || !yes || !no || condition.type.kind !== "bool") return undefined;
    if (!isPlain(yes.type) || !isPlain(no.type)) return undefined;
    const code = `${this.#operand(condition)} ? ${this.#operand(yes)} : ${this.#operand(no)}`;
    return { code, type, total: [condition, yes, no].every((term) => this.isTotal(term)), compound: true };
  }

  #index([operand, key]: readonly Expr[], type: CelType): Term | undefined {
    const inside = operand && this.visit(operand);
    if (!inside || key?.kind !== "literal") return undefined;
    if (typeof key.value === "string") return this.#field(inside, key.value, type);
    if (inside.type.kind !== "list" || !isPlain(type)) return undefined;
    const index = String(key.value);
    const code = `${inside.code}${inside.what === undefined ? "" : "?."}[${index}]`;
    const path = `${inside.path ?? inside.code}[${index}]`;
    return { code, path, type, total: inside.total, what: path };
  }

  /** Texts one behind the other. */
  #text(expr: Expr, type: CelType): Term | undefined {
    const parts = textParts(expr, this.#program);
    let total = true;
    let code = "";
    for (const part of parts) {
      if (part.kind === "literal" && typeof part.value === "string") {
        code += templateText(part.value);
        continue;
      }
      const term = this.visit(part);
      if (term?.type.kind !== "string") return undefined;
      total &&= this.isTotal(term);
      // A template makes texts by itself.
      code += `\${${term.inner ?? this.value(term)}}`;
    }
    return { code: `\`${code}\``, type, total };
  }

  #method(fn: string, target: Expr, args: readonly Expr[], type: CelType): Term | undefined {
    const [arg] = args;
    if (fn === "size" && args.length === 0) {
      const list = this.visit(target);
      return list && this.#operator("size", [list], type);
    }
    if (fn !== "orValue" || !arg) return undefined;
    const optional = this.#optional(target);
    const otherwise = this.visit(arg);
    if (!optional || !otherwise || !isPlain(type)) return undefined;
    return {
      code: `${optional.code} ?? ${this.#operand(otherwise)}`,
      ...{ type, total: optional.total && this.isTotal(otherwise), compound: true },
    };
  }

  /** `a.?b.?c`: what stands before the first question mark must be there. */
  #optional(expr: Expr): Term | undefined {
    if (expr.kind !== "call" || (expr.fn !== "_?._" && expr.fn !== "_[?_]")) return undefined;
    const [operand, key] = expr.args;
    if (!operand || key?.kind !== "literal" || typeof key.value !== "string") return undefined;
    const type = this.#program.checked.typeOf(expr.id);
    const inner = type.params[0] ?? type;
    const outer = this.#optional(operand);
    if (outer) return this.#field({ ...outer, what: outer.what ?? outer.code }, key.value, inner);
    const base = this.visit(operand);
    if (!base) return undefined;
    const { what: _, ...there } = base;
    return this.#field({ ...there, code: this.value(base), total: this.isTotal(base) }, key.value, inner);
  }
}

function literal(value: unknown, type: CelType): Term | undefined {
  const code =
    typeof value === "bigint" || typeof value === "number"
      ? String(value)
      : value instanceof Double
        ? String(value.value)
        : typeof value === "string" || typeof value === "boolean"
          ? codeOf(value)
          : undefined;
  return code === undefined ? undefined : { code, type, total: true };
}

/** The operands of a chain of `+`, from left to right. */
function textParts(expr: Expr, program: Program): Expr[] {
  const isJoin =
    expr.kind === "call" && expr.fn === "_+_" && program.checked.typeOf(expr.id).kind === "string";
  return isJoin && expr.kind === "call" ? expr.args.flatMap((arg) => textParts(arg, program)) : [expr];
}
