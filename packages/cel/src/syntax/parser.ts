/**
 * Parses an expression into a tree, expanding macros on the way.
 *
 * One function a grammar rule. A syntax error ends the parse; what the user is told about it is worked out
 * by syntax-errors.ts, which reads the tokens again the way the API server's own parser does.
 */

import { type CelValue, Double, Uint } from "../values/values.ts";
import type { Expr, MapEntry, StructField } from "./ast.ts";
import { CelError, CelIssues } from "./errors.ts";
import { lex, type Token, type TokenKind } from "./lexer.ts";
import { parseBytesText, parseIntText, parseStringText, parseUintText } from "./literals.ts";
import { type Macro, macroKey } from "./macro.ts";
import { callNode, MacroFailure, NodeFactory } from "./node-factory.ts";
import { type Location, noLocation, Source } from "./source.ts";
import { explainSyntaxErrors } from "./syntax-errors.ts";

export interface ParseOptions {
  readonly macros?: ReadonlyMap<string, Macro>;
  /** Allows `a.?b`, `a[?b]` and `{?k: v}`. */
  readonly optionalSyntax?: boolean;
  /** Allows field names between backticks. */
  readonly escapedFields?: boolean;
  /** Code points. Default 100,000. */
  readonly maxSize?: number;
  /** Default 250. */
  readonly maxDepth?: number;
}

export interface ParsedExpr {
  readonly source: Source;
  readonly expr: Expr;
  /** Where the node with an id stands. */
  location(id: number): Location;
}

const reserved: ReadonlySet<string> = new Set(
  (
    "as break const continue else false for function if import in let loop package namespace null return " +
    "true var void while"
  ).split(" "),
);

const relationOps: Partial<Record<TokenKind, string>> = {
  "<": "_<_",
  "<=": "_<=_",
  ">=": "_>=_",
  ">": "_>_",
  "==": "_==_",
  "!=": "_!=_",
  in: "@in",
};
const calcOps: Partial<Record<TokenKind, { fn: string; precedence: number }>> = {
  "*": { fn: "_*_", precedence: 2 },
  "/": { fn: "_/_", precedence: 2 },
  "%": { fn: "_%_", precedence: 2 },
  "+": { fn: "_+_", precedence: 1 },
  "-": { fn: "_-_", precedence: 1 },
};

/** Never throws anything for bad input: what is wrong with it comes back as issues. */
export function parse(text: string | Source, options: ParseOptions = {}): ParsedExpr | CelIssues {
  const source = typeof text === "string" ? new Source(text) : text;
  const issues = new CelIssues(source);
  const maxSize = options.maxSize ?? 100_000;
  const size = source.points.length;
  if (size > maxSize) {
    issues.report(noLocation, `expression code point size exceeds limit: size: ${size}, limit ${maxSize}`);
    return issues;
  }
  const { tokens, errors } = lex(source);
  for (const { offset, text: bad } of errors) {
    issues.report(source.location(offset), `Syntax error: token recognition error at: '${bad}'`);
  }
  const parser = new Parser(source, tokens, issues, options);
  try {
    const expr = parser.start();
    return issues.count > 0 ? issues : parser.result(expr);
  } catch (error) {
    if (error instanceof DepthExceeded) issues.report(noLocation, error.message);
    else if (error instanceof SyntaxStop) explainSyntaxErrors(source, tokens, issues);
    else throw error;
    return issues;
  }
}

/** The tokens do not form an expression. */
class SyntaxStop extends CelError {
  constructor() {
    super("syntax", "syntax error");
  }
}

class DepthExceeded extends CelError {
  constructor(message: string) {
    super("limit", message);
  }
}

class Parser {
  readonly #source: Source;
  readonly #tokens: readonly Token[];
  readonly #issues: CelIssues;
  readonly #macros: ReadonlyMap<string, Macro>;
  readonly #options: ParseOptions;
  readonly #maxDepth: number;
  readonly #nodes = new NodeFactory();
  /** How deep each grammar rule is nested right now. */
  readonly #ruleDepth = { expr: 0, relation: 0, calc: 0 };
  /** How deep the tree below a node is, counting what the language counts. Only kept for long expressions. */
  readonly #treeDepth: Map<Expr, number> | undefined;
  #at = 0;

  constructor(source: Source, tokens: readonly Token[], issues: CelIssues, options: ParseOptions) {
    this.#source = source;
    this.#tokens = tokens;
    this.#issues = issues;
    this.#options = options;
    this.#macros = options.macros ?? new Map();
    this.#maxDepth = options.maxDepth ?? 250;
    this.#treeDepth = tokens.length > this.#maxDepth ? new Map() : undefined;
  }

  start(): Expr {
    const expr = this.#expr();
    this.#expect("<EOF>");
    return expr;
  }

  result(expr: Expr): ParsedExpr {
    const nodes = this.#nodes;
    const source = this.#source;
    return { source, expr, location: (id) => source.location(nodes.offset(id)) };
  }

  #expr(): Expr {
    this.#enter("expr");
    let expr = this.#or();
    if (this.#peek().kind === "?") {
      const op = this.#take();
      const yes = this.#or();
      this.#expect(":");
      const no = this.#expr();
      expr = this.#deeper(this.#call(this.#id(op.start), "_?_:_", [expr, yes, no]), [expr, yes, no]);
    }
    this.#ruleDepth.expr--;
    return expr;
  }

  #or(): Expr {
    return this.#logic("||", "_||_", () => this.#logic("&&", "_&&_", () => this.#relation(0)));
  }

  /** A chain of one logical operator, balanced so that long chains stay shallow. */
  #logic(op: "||" | "&&", fn: string, operand: () => Expr): Expr {
    const terms = [operand()];
    const ops: number[] = [];
    while (this.#peek().kind === op) {
      const token = this.#take();
      terms.push(operand());
      ops.push(this.#id(token.start));
    }
    const balance = (low: number, high: number): Expr => {
      if (low > high) return terms[low] as Expr;
      const middle = (low + high + 1) >> 1;
      const left = balance(low, middle - 1);
      const right = balance(middle + 1, high);
      return this.#deep(this.#call(ops[middle] as number, fn, [left, right]), [left, right]);
    };
    return balance(0, ops.length - 1);
  }

  #relation(minimum: number): Expr {
    this.#enter("relation");
    let left = this.#calc(0);
    for (;;) {
      const fn = relationOps[this.#peek().kind];
      if (fn === undefined || minimum > 1) break;
      const id = this.#id(this.#take().start);
      const right = this.#relation(2);
      left = this.#deeper(this.#call(id, fn, [left, right]), [left, right]);
    }
    this.#ruleDepth.relation--;
    return left;
  }

  #calc(minimum: number): Expr {
    this.#enter("calc");
    let left = this.#unary();
    for (;;) {
      const op = calcOps[this.#peek().kind];
      if (op === undefined || op.precedence < minimum) break;
      const id = this.#id(this.#take().start);
      const right = this.#calc(op.precedence + 1);
      left = this.#deeper(this.#call(id, op.fn, [left, right]), [left, right]);
    }
    this.#ruleDepth.calc--;
    return left;
  }

  #unary(): Expr {
    const first = this.#peek();
    if (first.kind !== "!" && first.kind !== "-") return this.#member(undefined);
    let count = 0;
    while (this.#peek().kind === first.kind) {
      this.#take();
      count++;
    }
    const next = this.#peek().kind;
    // One minus before a number belongs to the literal: the smallest integer has no positive twin.
    if (first.kind === "-" && count === 1 && (next === "NUM_INT" || next === "NUM_FLOAT")) {
      return this.#member(first);
    }
    if (count % 2 === 0) return this.#member(undefined);
    const id = this.#id(first.start);
    const operand = this.#member(undefined);
    return this.#deep(this.#call(id, first.kind === "!" ? "!_" : "-_", [operand]), [operand]);
  }

  #member(sign: Token | undefined): Expr {
    let expr = this.#primary(sign);
    for (;;) {
      const token = this.#peek();
      if (token.kind === ".") expr = this.#select(expr, this.#take());
      else if (token.kind === "[") expr = this.#index(expr, this.#take());
      else return expr;
    }
  }

  #select(operand: Expr, dot: Token): Expr {
    const optional = this.#takeIf("?");
    const name = this.#take();
    if (name.kind !== "IDENTIFIER" && name.kind !== "ESC_IDENTIFIER") throw new SyntaxStop();
    if (optional === undefined && name.kind === "IDENTIFIER" && this.#peek().kind === "(") {
      const id = this.#id(this.#take().start);
      const args = this.#args();
      const call = this.#expand(id, name.text, operand, args) ?? {
        kind: "call",
        id,
        fn: name.text,
        target: operand,
        args,
      };
      return this.#deeper(call, [operand, ...args]);
    }
    const field = this.#fieldName(name);
    if (optional === undefined) {
      const select: Expr = {
        kind: "select",
        id: this.#id(dot.start),
        operand,
        field,
        testOnly: false,
      };
      return this.#deeper(select, [operand]);
    }
    if (!this.#options.optionalSyntax) return this.#reject(dot.start, "unsupported syntax '.?'");
    const literal = this.#literal(name.start, field);
    return this.#deeper(this.#call(this.#id(dot.start), "_?._", [operand, literal]), [operand]);
  }

  #index(operand: Expr, bracket: Token): Expr {
    const id = this.#id(bracket.start);
    const optional = this.#takeIf("?");
    const index = this.#expr();
    this.#expect("]");
    if (optional !== undefined && !this.#options.optionalSyntax) {
      return this.#reject(bracket.start, "unsupported syntax '[?'");
    }
    const fn = optional === undefined ? "_[_]" : "_[?_]";
    return this.#deeper(this.#call(id, fn, [operand, index]), [operand, index]);
  }

  #primary(before: Token | undefined): Expr {
    const first = this.#take();
    // `!-1`: behind a not, a minus can only be the sign of a number.
    const sign = before ?? (first.kind === "-" ? first : undefined);
    const token = first.kind === "-" ? this.#take() : first;
    if (first.kind === "-" && token.kind !== "NUM_INT" && token.kind !== "NUM_FLOAT") throw new SyntaxStop();
    const start = sign?.start ?? token.start;
    switch (token.kind) {
      case "NUM_INT": {
        const value = parseIntText(token.text, sign !== undefined);
        return value === undefined ? this.#reject(start, "invalid int literal") : this.#literal(start, value);
      }
      case "NUM_UINT": {
        const value = parseUintText(token.text);
        if (value === undefined) return this.#reject(start, "invalid uint literal");
        return this.#literal(start, new Uint(value));
      }
      case "NUM_FLOAT": {
        const value = Number(token.text);
        if (!Number.isFinite(value)) return this.#reject(start, "invalid double literal");
        return this.#literal(start, new Double(sign === undefined ? value : -value));
      }
      case "STRING":
        return this.#text(start, () => parseStringText(token.text));
      case "BYTES":
        return this.#text(start, () => parseBytesText(token.text.slice(1)));
      case "true":
      case "false":
        return this.#literal(start, token.kind === "true");
      case "null":
        return this.#literal(start, null);
      case "(": {
        const expr = this.#expr();
        this.#expect(")");
        return expr;
      }
      case "[":
        return this.#list(token);
      case "{":
        return this.#map(token);
      case ".":
      case "IDENTIFIER":
        return this.#name(token);
      default:
        throw new SyntaxStop();
    }
  }

  #text(start: number, read: () => CelValue): Expr {
    try {
      return this.#literal(start, read());
    } catch (error) {
      if (error instanceof CelError) return this.#reject(start, error.message);
      throw error;
    }
  }

  #name(first: Token): Expr {
    const dot = first.kind === "." ? "." : "";
    const ident = dot ? this.#take() : first;
    if (ident.kind !== "IDENTIFIER") throw new SyntaxStop();
    const struct = this.#structName(dot + ident.text);
    if (struct !== undefined) return this.#struct(struct);
    const open = this.#takeIf("(");
    if (open === undefined) {
      if (reserved.has(ident.text)) return this.#reject(first.start, `reserved identifier: ${ident.text}`);
      return { kind: "ident", id: this.#id(ident.start), name: dot + ident.text };
    }
    if (reserved.has(ident.text)) {
      this.#args();
      return this.#reject(first.start, `reserved identifier: ${ident.text}`);
    }
    const id = this.#id(open.start);
    const args = this.#args();
    const fn = dot + ident.text;
    return this.#deep(this.#expand(id, fn, undefined, args) ?? this.#call(id, fn, args), args);
  }

  /** The dotted name before a `{`, if that is what follows; takes it. */
  #structName(first: string): string | undefined {
    let at = this.#at;
    let name = first;
    while (this.#tokens[at]?.kind === "." && this.#tokens[at + 1]?.kind === "IDENTIFIER") {
      name += `.${this.#tokens[at + 1]?.text}`;
      at += 2;
    }
    if (this.#tokens[at]?.kind !== "{") return undefined;
    this.#at = at;
    return name;
  }

  #struct(typeName: string): Expr {
    const id = this.#id(this.#take().start);
    const fields: StructField[] = [];
    while (this.#peek().kind !== "}") {
      if (this.#peek().kind === "," && fields.length === 0) {
        this.#take();
        break;
      }
      const optional = this.#takeIf("?");
      const name = this.#take();
      if (name.kind !== "IDENTIFIER" && name.kind !== "ESC_IDENTIFIER") throw new SyntaxStop();
      const colon = this.#expect(":");
      if (optional !== undefined && !this.#options.optionalSyntax) {
        this.#reject(optional.start, "unsupported syntax '?'");
      }
      const fieldId = this.#id(colon.start);
      fields.push({
        id: fieldId,
        name: this.#fieldName(name),
        value: this.#expr(),
        optional: optional !== undefined,
      });
      if (this.#takeIf(",") === undefined) break;
    }
    this.#expect("}");
    const struct: Expr = { kind: "struct", id, typeName, fields };
    return this.#deep(
      struct,
      fields.map((field) => field.value),
    );
  }

  #list(open: Token): Expr {
    const id = this.#id(open.start);
    const elements: Expr[] = [];
    const optional: number[] = [];
    while (this.#peek().kind !== "]") {
      if (this.#peek().kind === "," && elements.length === 0) {
        this.#take();
        break;
      }
      const mark = this.#takeIf("?");
      if (mark !== undefined) {
        if (!this.#options.optionalSyntax) this.#reject(mark.start, "unsupported syntax '?'");
        optional.push(elements.length);
      }
      elements.push(this.#expr());
      if (this.#takeIf(",") === undefined) break;
    }
    this.#expect("]");
    return this.#deep({ kind: "list", id, elements, optional }, elements);
  }

  #map(open: Token): Expr {
    const id = this.#id(open.start);
    const entries: MapEntry[] = [];
    while (this.#peek().kind !== "}") {
      if (this.#peek().kind === "," && entries.length === 0) {
        this.#take();
        break;
      }
      const mark = this.#takeIf("?");
      if (mark !== undefined && !this.#options.optionalSyntax) {
        this.#reject(mark.start, "unsupported syntax '?'");
      }
      const key = this.#expr();
      const entryId = this.#id(this.#expect(":").start);
      entries.push({ id: entryId, key, value: this.#expr(), optional: mark !== undefined });
      if (this.#takeIf(",") === undefined) break;
    }
    this.#expect("}");
    return this.#deep(
      { kind: "map", id, entries },
      entries.flatMap((entry) => [entry.key, entry.value]),
    );
  }

  #args(): Expr[] {
    const args: Expr[] = [];
    if (this.#peek().kind !== ")") {
      do args.push(this.#expr());
      while (this.#takeIf(",") !== undefined);
    }
    this.#expect(")");
    return args;
  }

  #fieldName(token: Token): string {
    if (token.kind === "IDENTIFIER") return token.text;
    if (!this.#options.escapedFields) this.#reject(token.start, "unsupported syntax: '`'");
    return token.text.slice(1, -1);
  }

  #expand(id: number, fn: string, target: Expr | undefined, args: readonly Expr[]): Expr | undefined {
    const macro = this.#macros.get(macroKey(fn, args.length, target !== undefined));
    if (macro === undefined) return undefined;
    const offset = this.#nodes.offset(id);
    const missing: Expr = target ?? { kind: "missing", id };
    try {
      return macro.expand(this.#nodes.macroBuilder(offset), missing, args);
    } catch (error) {
      if (!(error instanceof MacroFailure)) throw error;
      return this.#reject(this.#nodes.offset(error.id), error.message);
    }
  }

  #call(id: number, fn: string, args: readonly Expr[]): Expr {
    return callNode(id, fn, args);
  }

  #literal(start: number, value: CelValue): Expr {
    return { kind: "literal", id: this.#id(start), value };
  }

  /** Reports what is wrong at an offset; the tree gets a hole there. */
  #reject(offset: number, message: string): Expr {
    this.#issues.report(this.#source.location(offset), message);
    return { kind: "missing", id: this.#id(offset) };
  }

  #enter(rule: "expr" | "relation" | "calc"): void {
    if (++this.#ruleDepth[rule] > this.#maxDepth) {
      throw new DepthExceeded(`expression recursion limit exceeded: ${this.#maxDepth}`);
    }
  }

  /** Records that a node is as deep as the deepest of its parts. */
  #deep(expr: Expr, parts: readonly Expr[]): Expr {
    return this.#recordDepth(expr, 0, parts);
  }

  /** Records that a node is one deeper than the deepest of its parts. */
  #deeper(expr: Expr, parts: readonly Expr[]): Expr {
    return this.#recordDepth(expr, 1, parts);
  }

  #recordDepth(expr: Expr, more: number, parts: readonly Expr[]): Expr {
    if (this.#treeDepth === undefined) return expr;
    let depth = 0;
    for (const part of parts) depth = Math.max(depth, this.#treeDepth.get(part) ?? 0);
    if (depth + more > this.#maxDepth) throw new DepthExceeded("max recursion depth exceeded");
    this.#treeDepth.set(expr, depth + more);
    return expr;
  }

  #id(offset: number): number {
    return this.#nodes.id(offset);
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== "<EOF>") this.#at++;
    return token;
  }

  #takeIf(kind: TokenKind): Token | undefined {
    return this.#peek().kind === kind ? this.#take() : undefined;
  }

  #expect(kind: TokenKind): Token {
    const token = this.#peek();
    if (token.kind !== kind) throw new SyntaxStop();
    return this.#take();
  }
}
