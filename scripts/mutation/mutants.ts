/** Small mistakes that a program can have: each is one edit of its text, made from the syntax tree. */
import { parseSync, Visitor } from "oxc-parser";

/** One edit: the characters from `start` to `end` become `text`. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** What was changed, in words: `=== becomes !==`. */
  readonly change: string;
  /** The whole expression or statement that the edit is in: what `together` replaces. */
  readonly within: Span & { readonly is: "expression" | "return" | "statement" };
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

const otherOperator: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "-": "+",
  "*": "/",
  "&&": "||",
  "||": "&&",
};

/** Every mutant of a file. Types, and texts that only people read, have none. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const mutants: Mutant[] = [];
  const edit = (
    { start, end }: Span,
    text: string,
    change: string,
    whole: Partial<Mutant["within"]> = {},
  ) => {
    const line = source.slice(0, start).split("\n").length;
    const within = { start: whole.start ?? start, end: whole.end ?? end, is: whole.is ?? "expression" };
    mutants.push({ file, line, start, end, text, change, within });
  };
  const textOf = ({ start, end }: Span) => source.slice(start, end);
  const short = (span: Span) => {
    const text = textOf(span).replaceAll(/\s+/g, " ");
    return text.length > 40 ? `${text.slice(0, 39)}…` : text;
  };

  const operator = (node: Span & { left: Span; right: Span; operator: string }) => {
    const other = otherOperator[node.operator];
    if (other === undefined) return;
    const between = { start: node.left.end, end: node.right.start };
    const { start, end } = node;
    edit(between, textOf(between).replace(node.operator, other), `${node.operator} becomes ${other}`, {
      start,
      end,
    });
  };

  let types = 0;
  new Visitor({
    TSLiteralType() {
      types++;
    },
    "TSLiteralType:exit"() {
      types--;
    },
    BinaryExpression: operator,
    LogicalExpression(node) {
      if (node.operator === "??") edit(node, textOf(node.left), `?? ${short(node.right)} is left out`);
      else operator(node);
    },
    UnaryExpression(node) {
      if (node.operator === "!") edit(node, textOf(node.argument), `!${short(node.argument)} loses its !`);
    },
    Literal(node) {
      if (types > 0) return;
      if (typeof node.value === "boolean")
        edit(node, String(!node.value), `${node.value} becomes ${!node.value}`);
      if (typeof node.value === "number")
        edit(node, String(node.value + 1), `${node.value} becomes ${node.value + 1}`);
    },
    ConditionalExpression({ start, end, test, consequent, alternate }) {
      const swapped = `${textOf(test)} ? ${textOf(alternate)} : ${textOf(consequent)}`;
      edit({ start, end }, swapped, `the branches of ${short(test)} are swapped`);
    },
    IfStatement({ test }) {
      edit(test, "true", `if (${short(test)}) is always true`);
      edit(test, "false", `if (${short(test)}) is always false`);
    },
    ReturnStatement({ argument, start, end }) {
      if (argument && textOf(argument) !== "undefined")
        edit({ start, end }, "return undefined as never;", `returns undefined for ${short(argument)}`, {
          is: "return",
        });
    },
    ExpressionStatement({ expression, start, end }) {
      const call = expression.type === "AwaitExpression" ? expression.argument : expression;
      if (call.type === "CallExpression")
        edit({ start, end }, ";", `${short(expression)} is left out`, { is: "statement" });
    },
    ArrayExpression(node) {
      if (node.elements.length > 0) edit(node, "[]", `${short(node)} is empty`);
    },
  }).visit(program);
  return mutants;
}

/** The text with the mistake in it. */
export function applyMutant(source: string, { start, end, text }: Mutant): string {
  return source.slice(0, start) + text + source.slice(end);
}
