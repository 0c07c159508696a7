import { describe, expect, test } from "vitest";
import { kubernetesEnvironment } from "../kubernetes/environment.ts";
import { compileToChecked } from "../program/program.ts";
import { CelIssues } from "../syntax/errors.ts";
import { formatType, listType, mapType, objectType, types } from "../values/types.ts";

const environment = kubernetesEnvironment.extend({
  variables: {
    n: types.int,
    s: types.string,
    d: types.dyn,
    l: listType(types.int),
    m: mapType(types.string, types.string),
    o: objectType("Thing"),
    "a.b": types.bool,
  },
  objects: [{ name: "Thing", fields: new Map([["size", types.int]]) }],
});

function check(source: string): string {
  const checked = compileToChecked(source, environment);
  return checked instanceof CelIssues
    ? checked.issues
        .map((issue) => `${issue.location.line}:${issue.location.column + 1}: ${issue.message}`)
        .join("\n")
    : formatType(checked.resultType);
}

describe("infers", () => {
  test.each([
    ["n + 1", "int"],
    ["l.map(x, string(x))", "list(string)"],
    ["{'a': [1]}", "map(string, list(int))"],
    ["[]", "list(dyn)"],
    ["l[?0]", "optional_type(int)"],
    ["o.?size.orValue(1)", "int"],
    ["d.anything.at.all", "dyn"],
    ["d ? n : n", "int"],
    ["type(n)", "type(int)"],
    ["a.b", "bool"],
    ["l.filter(x, x > 1)[0]", "int"],
    ["m.transformMap(k, v, size(v))", "map(string, int)"],
    ["quantity('1').add(1)", "kubernetes.Quantity"],
    ["timestamp('2024-01-01T00:00:00Z') - duration('1s')", "timestamp"],
    ["dyn(1) + 1", "int"],
    ["optional.of(l).optMap(x, x[0])", "optional_type(int)"],
  ])("%s as %s", (source, type) => {
    expect(check(source)).toBe(type);
  });
});

describe("refuses", () => {
  test.each([
    ["n + s", "1:3: found no matching overload for '_+_' applied to '(int, string)'"],
    ["s.size(1)", "1:7: found no matching overload for 'size' applied to 'string.(int)'"],
    ["x", "1:1: undeclared reference to 'x' (in container '')"],
    ["s.nothing()", "1:10: undeclared reference to 'nothing' (in container '')"],
    ["o.weight", "1:2: undefined field 'weight'"],
    ["n.field", "1:2: type 'int' does not support field selection"],
    [
      "n.all(x, true)",
      "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["n && true", "1:1: expected type 'bool' but found 'int'"],
    ["l.all(x, x)", "1:10: expected type 'bool' but found 'int'"],
    ["[1, 's']", "1:5: expected type 'int' but found 'string'"],
    ["{'a': 1, 'b': 's'}", "1:15: expected type 'int' but found 'string'"],
    ["[?1]", "1:3: expected type 'optional_type(int)' but found 'int'"],
    ["l[0] == null", "1:6: found no matching overload for '_==_' applied to '(int, null)'"],
    ["duration('soon')", "1:10: invalid duration argument"],
    ["timestamp('soon')", "1:11: invalid timestamp argument"],
    ["s.matches('(')", "1:11: invalid matches argument"],
    [
      "'%d'.format(['a'])",
      "1:14: error during formatting: decimal clause can only be used on integers, was given string",
    ],
    ["'%d'.format([1, 2])", "1:12: too many arguments supplied to string.format (expected 1, got 2)"],
    [
      "quantity('1').sign()",
      "1:19: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
    ],
  ])("%s", (source, message) => {
    expect(check(source)).toBe(message);
  });
});

test("compares null with what can be null", () => {
  expect(check("o == null")).toBe("bool");
  expect(check("d == null")).toBe("bool");
  expect(check("quantity('1') == null")).toBe("bool");
});

test("lets format() take a list of mixed types, and no other call", () => {
  expect(check("'%s %d'.format(['a', 1])")).toBe("string");
  expect(check("size(['a', 1])")).toContain("expected type 'string' but found 'int'");
});
