import { parseJson } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromJson } from "../kubernetes/dynamic-json.ts";
import { kubernetesEnvironment } from "../kubernetes/environment.ts";
import { CelIssues } from "../syntax/errors.ts";
import { types } from "../values/types.ts";
import { Fault } from "../values/values.ts";
import { compile, type Program } from "./program.ts";

const environment = kubernetesEnvironment.extend({ variables: { x: types.dyn, l: types.dyn, s: types.dyn } });

/** Expressions that often compile, and then do all sorts of things to values of the wrong kind. */
const { expression } = fc.letrec<{ expression: string; leaf: string }>((tie) => ({
  leaf: fc.constantFrom(
    ..."x l s 0 1 -1 2u 1.5 'a' '' true null [] [1] ['a'] {'k':1} b'x' 9223372036854775807 duration('1s')".split(
      " ",
    ),
  ),
  expression: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc
      .tuple(
        tie("expression"),
        fc.constantFrom("+", "-", "*", "/", "%", "==", "<", "&&", "||", "in"),
        tie("expression"),
      )
      .map(([a, op, b]) => `(dyn(${a}) ${op} dyn(${b}))`),
    fc
      .tuple(
        tie("expression"),
        fc.constantFrom("all", "exists", "map", "filter", "exists_one"),
        tie("expression"),
      )
      .map(([range, macro, body]) => `dyn(${range}).${macro}(x, ${body})`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `dyn(${a})[dyn(${b})]`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `dyn(${a})[?dyn(${b})].orValue(${b})`),
    fc
      .tuple(
        fc.constantFrom("size", "string", "int", "double", "type", "quantity", "isIP", "url"),
        tie("expression"),
      )
      .map(([fn, a]) => `${fn}(dyn(${a}))`),
    fc
      .tuple(
        tie("expression"),
        fc.constantFrom("lowerAscii", "sort", "distinct", "sum", "join", "reverse", "trim"),
      )
      .map(([a, fn]) => `dyn(${a}).${fn}()`),
    fc
      .tuple(tie("expression"), tie("expression"), tie("expression"))
      .map(([a, b, c]) => `(dyn(${a}) ? ${b} : ${c})`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `[${a}, ${b}]`),
    tie("expression").map((a) => `has(dyn(${a}).k)`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `'%s %d'.format([${a}, ${b}])`),
  ),
}));

describe("whatever the expression and the data", () => {
  test("evaluation returns a value or a fault, within its cost", () => {
    fc.assert(
      fc.property(expression, fc.json(), fc.integer({ min: 0, max: 5000 }), (source, json, costLimit) => {
        const program = compile(source, environment);
        if (program instanceof CelIssues) return;
        const data = fromJson(parseJson(json));
        const { value, cost } = program.evaluate({ x: data, l: data, s: data }, { costLimit });
        expect(value).toBeDefined();
        if (!(value instanceof Fault)) expect(cost).toBeLessThanOrEqual(costLimit);
      }),
      { numRuns: 3000 },
    );
  });

  test("the same input gives the same result and cost", () => {
    fc.assert(
      fc.property(expression, fc.json(), (source, json) => {
        const program = compile(source, environment);
        if (program instanceof CelIssues) return;
        const run = () => {
          const data = fromJson(parseJson(json));
          const { value, cost } = program.evaluate({ x: data, l: data, s: data });
          return { cost, value: value instanceof Fault ? value.message : typeof value };
        };
        expect(run()).toEqual(run());
      }),
      { numRuns: 500 },
    );
  });
});

describe("cheap-looking expressions over large data", () => {
  const numbers = Array.from({ length: 20_000 }, (_, i) => i);
  const data = fromJson({
    n: numbers,
    s: "a".repeat(100_000),
    o: { deep: numbers.map((i) => ({ i, t: ["x"] })) },
  });

  test.each([
    "x.n.all(i, x == x.o || true)",
    "x.n.all(i, x.o.deep == x.o.deep)",
    "x.n.all(i, x.n.isSorted())",
    "x.n.all(i, x.s.size() > 0)",
    "x.n.all(i, '%s'.format([x.n]) != '')",
    "x.n.all(i, x.s.matches('a*b') || true)",
    "lists.range(1000000000000).size() > 0",
    "x.s.replace('', x.s).size() > 0",
    "x.n.map(i, x.s).join('').size() > 0",
    "x.n.distinct().size() > 0",
  ])("%s ends", (source) => {
    const program = compile(source, environment);
    if (program instanceof CelIssues) throw program.toError();
    expect((program as Program).evaluate({ x: data }).value).toBeDefined();
  });
});
