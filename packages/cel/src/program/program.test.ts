import { describe, expect, test } from "vitest";
import { Environment } from "../check/environment.ts";
import { twoVariableLibrary } from "../library/comprehensions.ts";
import { optionalLibrary } from "../library/optionals.ts";
import { standardLibrary } from "../library/standard.ts";
import { CelIssues } from "../syntax/errors.ts";
import { types } from "../values/types.ts";
import { type CelValue, Double, Fault } from "../values/values.ts";
import { compile, type Program } from "./program.ts";

const environment = new Environment({
  libraries: [standardLibrary, optionalLibrary, twoVariableLibrary],
  variables: { x: types.dyn, n: types.int },
});

function program(source: string): Program {
  const compiled = compile(source, environment);
  if (compiled instanceof CelIssues) throw compiled.toError();
  return compiled;
}

function evaluate(source: string, bindings: Record<string, CelValue> = {}): CelValue {
  return program(source).evaluate(bindings).value;
}

function failure(source: string, bindings: Record<string, CelValue> = {}): string {
  const value = evaluate(source, bindings);
  return value instanceof Fault ? value.message : `no failure: ${String(value)}`;
}

describe("integers", () => {
  test("are exact to the last digit of 64 bits", () => {
    expect(evaluate("9223372036854775807 - 1")).toBe(9223372036854775806n);
    expect(evaluate("9007199254740992 + 1")).toBe(9007199254740993n);
    expect(evaluate("9007199254740993 - 9007199254740992")).toBe(1);
    expect(evaluate("-9223372036854775808")).toBe(-9223372036854775808n);
    expect(evaluate("9007199254740993 / 3")).toBe(3002399751580331);
  });

  test("fail rather than overflow", () => {
    expect(failure("9223372036854775807 + 1")).toBe("integer overflow");
    expect(failure("-9223372036854775808 * n", { n: -1 })).toBe("integer overflow");
    expect(failure("-(n - 1)", { n: -9223372036854775807n })).toBe("integer overflow");
    expect(failure("1 / n", { n: 0 })).toBe("division by zero");
    expect(failure("1 % n", { n: 0 })).toBe("modulus by zero");
  });

  test("compare with other numbers by value", () => {
    expect(evaluate("1 < 1.5 && 2u > 1 && dyn(1) == 1.0 && dyn(2u) == 2")).toBe(true);
    expect(evaluate("x == 1", { x: new Double(Number.NaN) })).toBe(false);
  });
});

describe("logic", () => {
  test("absorbs an error on either side", () => {
    expect(evaluate("1 / n == 1 && false", { n: 0 })).toBe(false);
    expect(evaluate("true || 1 / n == 1", { n: 0 })).toBe(true);
    expect(failure("1 / n == 1 && true", { n: 0 })).toBe("division by zero");
  });

  test("takes only the branch it needs", () => {
    expect(evaluate("n == 0 ? 7 : 1 / n", { n: 0 })).toBe(7);
  });

  test("keeps going through a loop whose element fails", () => {
    expect(evaluate("[0, 1].exists(i, 1 / i == 1)")).toBe(true);
    expect(failure("[0, 1].all(i, 1 / i == 1)")).toBe("division by zero");
  });
});

describe("strings", () => {
  test("count and compare code points, not UTF-16 units", () => {
    expect(evaluate("size('\u{1f431}a')")).toBe(2);
    expect(evaluate("'\\uffff' < '\u{1f431}'")).toBe(true);
  });

  test("match patterns in RE2's syntax", () => {
    expect(evaluate("'kept' .matches('^k.+t$')")).toBe(true);
    expect(compile("'a'.matches('(?=a)')", environment)).toBeInstanceOf(CelIssues);
  });
});

describe("presence and optionals", () => {
  test("tell an absent field from a null one", () => {
    expect(evaluate("has({'a': null}.a) && !has({'a': null}.b)")).toBe(true);
    expect(evaluate("{true: null}[true]")).toBeNull();
    expect(failure("{'a': 1}.b")).toBe("no such key: b");
    expect(failure("[1][1]")).toBe("index out of bounds: 1");
  });

  test("chain through what may be missing", () => {
    expect(evaluate("{'a': {'b': 1}}.?a.?b.orValue(2)")).toBe(1);
    expect(evaluate("{'a': {'b': 1}}.?c.?b.orValue(2)")).toBe(2);
    expect(evaluate("{'a': {'b': {'c': 1}}}.?a.b.c.orValue(2)")).toBe(1);
    expect(evaluate("{'a': {'b': {'c': 1}}}.?z.b.c.orValue(2)")).toBe(2);
    const x = evaluate("{'a': {'b': 1}}");
    expect(evaluate("x.?a.b == optional.of(1) && x.?a.z == optional.none()", { x })).toBe(true);
    expect(evaluate("[1, 2][?5].hasValue()")).toBe(false);
    expect(evaluate("{'a': 1}.?a.optMap(v, v + 1) == optional.of(2)")).toBe(true);
  });
});

describe("loops", () => {
  test("map, filter and transform", () => {
    expect(evaluate("[1, 2, 3].filter(i, i > 1).map(i, i * i) == [4, 9]")).toBe(true);
    expect(evaluate("[1, 2].transformMap(i, v, i + v) == {0: 1, 1: 3}")).toBe(true);
    expect(evaluate("{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}")).toBe(true);
  });

  test("end at the cost limit, however long they would run", () => {
    const source = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, a + b > 0))";
    const { value, cost } = program(source).evaluate({}, { costLimit: 100 });
    expect(value).toEqual(new Fault("operation cancelled: actual cost limit exceeded"));
    expect(cost).toBeLessThan(120);
  });

  test("do not let logic absorb a cancellation", () => {
    const { value } = program("true || [1, 2, 3].all(i, i > 0)").evaluate({}, { costLimit: 0 });
    expect(value).toBe(true);
    const cancelled = program("[1, 2, 3].all(i, i > 0) || true").evaluate({}, { costLimit: 2 });
    expect(cancelled.value).toBeInstanceOf(Fault);
  });
});

test("a program runs again and again with its own bindings", () => {
  const compiled = program("n + 1");
  expect([1, 2, 3].map((n) => compiled.evaluate({ n }).value)).toEqual([2, 3, 4]);
  expect(compiled.evaluate({}).value).toEqual(new Fault("no such attribute(s): n"));
});

test("issues point at the place they are about", () => {
  const issues = compile("n +\n  'a'", environment);
  expect(String(issues)).toBe(
    "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | n +\n | ..^",
  );
});
