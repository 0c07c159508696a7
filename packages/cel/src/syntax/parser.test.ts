import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { standardMacros } from "../library/macros.ts";
import type { Expr } from "./ast.ts";
import { CelIssues } from "./errors.ts";
import { macroKey } from "./macro.ts";
import { parse } from "./parser.ts";

const macros = new Map(
  standardMacros.map((macro) => [macroKey(macro.fn, macro.argCount, macro.receiver), macro]),
);

/** The tree as nested calls, for comparing shapes. */
function shape(expr: Expr): string {
  switch (expr.kind) {
    case "literal":
      return typeof expr.value === "string" ? `'${expr.value}'` : String(expr.value);
    case "ident":
      return expr.name;
    case "select":
      return `${expr.testOnly ? "has " : ""}${shape(expr.operand)}.${expr.field}`;
    case "call": {
      const args = expr.args.map(shape).join(", ");
      return expr.target === undefined ? `${expr.fn}(${args})` : `${shape(expr.target)}.${expr.fn}(${args})`;
    }
    case "list":
      return `[${expr.elements.map((element, i) => (expr.optional.includes(i) ? "?" : "") + shape(element)).join(", ")}]`;
    case "map":
      return `{${expr.entries.map((entry) => `${entry.optional ? "?" : ""}${shape(entry.key)}: ${shape(entry.value)}`).join(", ")}}`;
    case "struct":
      return `${expr.typeName}{${expr.fields.map((field) => `${field.name}: ${shape(field.value)}`).join(", ")}}`;
    case "comprehension":
      return `fold(${expr.iterVar} in ${shape(expr.range)}: ${shape(expr.step)})`;
    case "missing":
      return "?";
  }
}

function parsed(source: string): string {
  const result = parse(source, { macros, optionalSyntax: true });
  return result instanceof CelIssues ? String(result) : shape(result.expr);
}

describe("precedence", () => {
  test.each([
    ["a + b * c - d", "_-_(_+_(a, _*_(b, c)), d)"],
    ["a == b < c", "_<_(_==_(a, b), c)"],
    ["a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"],
    ["a || b && c", "_||_(a, _&&_(b, c))"],
    ["a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))"],
    ["!a.b", "!_(a.b)"],
    ["!!a", "a"],
    ["---a", "-_(a)"],
    ["-1.abs()", "-1.abs()"],
    ["!-1", "!_(-1)"],
    ["a.b[c].d(e)", "_[_](a.b, c).d(e)"],
    ["x in [1, 2]", "@in(x, [1, 2])"],
    ["a.?b[?c]", "_[?_](_?._(a, 'b'), c)"],
    ["{?a: b, c: d,}", "{?a: b, c: d}"],
    ["[?a, b,]", "[?a, b]"],
    ["a.b.C{x: 1}", "a.b.C{x: 1}"],
    ["has(a.b.c)", "has a.b.c"],
  ])("%s", (source, tree) => {
    expect(parsed(source)).toBe(tree);
  });
});

describe("literals", () => {
  function literal(source: string): unknown {
    const result = parse(source);
    return result instanceof CelIssues || result.expr.kind !== "literal" ? String(result) : result.expr.value;
  }

  test("strings in all their quotes", () => {
    expect(literal(String.raw`'a\n\x41\u00e9\U0001F600\101'`)).toBe("a\nA\u00e9\u{1f600}A");
    expect(literal(String.raw`r'a\n'`)).toBe(String.raw`a\n`);
    expect(literal('"""a"b\nc"""')).toBe('a"b\nc');
    expect(literal("'''it's'''")).toBe("it's");
    expect(literal("''")).toBe("");
  });

  test("bytes", () => {
    expect(literal(String.raw`b'\xff\377a'`)).toEqual(Uint8Array.of(255, 255, 97));
    expect(literal("b'é'")).toEqual(Uint8Array.of(0xc3, 0xa9));
  });

  test("numbers", () => {
    expect(literal("0x1F")).toBe(31);
    expect(literal("-0x10")).toBe(-16);
    expect(literal("9223372036854775807")).toBe(9223372036854775807n);
    expect(literal("-9223372036854775808")).toBe(-9223372036854775808n);
    expect(literal(".5e1")).toEqual({ value: 5 });
    expect(literal("18446744073709551615u")).toEqual({ value: 18446744073709551615n });
  });

  test.each([
    ["9223372036854775808", "invalid int literal"],
    ["18446744073709551616u", "invalid uint literal"],
    ["1e999", "invalid double literal"],
    [String.raw`'\U0011FFFF'`, "invalid unicode code point"],
    ["namespace + 1", "reserved identifier: namespace"],
    ["a.`b-c`", "unsupported syntax: '`'"],
    ["has(a)", "invalid argument to has() macro"],
    ["[1].map(x.y, x)", "argument is not an identifier"],
    ["[1].all(1, true)", "argument must be a simple name"],
    ["[1].exists(__result__, true)", "iteration variable overwrites accumulator variable"],
  ])("%s is refused: %s", (source, message) => {
    expect(String(parse(source, { macros }))).toContain(`: ${message}\n`);
  });
});

describe("syntax errors", () => {
  const starts =
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";

  test.each([
    ["1 +", `1:4: Syntax error: mismatched input '<EOF>' expecting {${starts}}`],
    ["1 + + 2", `1:5: Syntax error: extraneous input '+' expecting {${starts}}`],
    ["a b", "1:3: Syntax error: extraneous input 'b' expecting <EOF>"],
    ["[1, 2", "1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
    ["(1", "1:3: Syntax error: missing ')' at '<EOF>'"],
    ["a.", "1:3: Syntax error: no viable alternative at input '.'"],
    ["a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"],
    ["1 + $ 2", "1:5: Syntax error: token recognition error at: '$'"],
    ["a & b", "1:3: Syntax error: token recognition error at: '& '"],
    ["'abc", "1:1: Syntax error: token recognition error at: ''abc'"],
    ["{1:2", "1:5: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"],
  ])("%s", (source, message) => {
    expect(String(parse(source))).toContain(`ERROR: <input>:${message}\n`);
  });

  test("several in one expression are all reported", () => {
    expect(String(parse("1 + + 2 && a b"))).toBe(
      [
        `ERROR: <input>:1:5: Syntax error: extraneous input '+' expecting {${starts}}`,
        " | 1 + + 2 && a b",
        " | ....^",
        "ERROR: <input>:1:14: Syntax error: extraneous input 'b' expecting <EOF>",
        " | 1 + + 2 && a b",
        " | .............^",
      ].join("\n"),
    );
  });

  test("the caret stands below wide characters too", () => {
    expect(String(parse("'\u00fc' + $"))).toContain(" | '\u00fc' + $\n | .\uff0e....^");
  });
});

describe("limits", () => {
  test("on size, nesting and depth", () => {
    expect(String(parse("a".repeat(100_001)))).toBe(
      "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000",
    );
    expect(String(parse(`${"(".repeat(251)}a${")".repeat(251)}`))).toContain(
      "expression recursion limit exceeded: 250",
    );
    expect(String(parse(`a${".b".repeat(251)}`))).toContain("max recursion depth exceeded");
    expect(parse(`a${" && a".repeat(2000)}`)).not.toBeInstanceOf(CelIssues);
  });
});

describe("whatever the text", () => {
  const words = fc.constantFrom(
    ..."a b 1 2u 1.5 'x' ( ) [ ] { } . , ? : + - * ! && || == < in true null has all @ ` // \\".split(" "),
    "\n",
    '"',
    "'''",
    "b'",
    'r"',
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.array(words, { maxLength: 30 }).map((parts) => parts.join(" ")),
    fc.array(words, { maxLength: 30 }).map((parts) => parts.join("")),
  );

  test("parsing ends in a tree or in issues, never in an exception", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const result = parse(text, { macros, optionalSyntax: true, escapedFields: true });
        if (result instanceof CelIssues) {
          expect(result.count).toBeGreaterThan(0);
          expect(String(result)).toMatch(/^ERROR: <input>:/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
