import { describe, expect, test } from "vitest";
import { kubernetesEnvironment } from "../kubernetes/environment.ts";
import { compileToChecked, Program } from "../program/program.ts";
import { CelIssues } from "../syntax/errors.ts";
import { unbounded } from "../values/cost-range.ts";
import { estimateCost } from "./estimate.ts";

function costs(source: string): { min: number; max: number; actual: number } {
  const checked = compileToChecked(source, kubernetesEnvironment);
  if (checked instanceof CelIssues) throw checked.toError();
  return { ...estimateCost(checked), actual: new Program(checked).evaluate().cost };
}

/** Figures of kube-apiserver 1.36 for the same expressions: [source, least, most, what running it costs]. */
const recorded: [string, number, number, number][] = [
  ["1 + 1", 1, 1, 1],
  ["[1, 2, 3].all(x, x > 0)", 20, 26, 16],
  ["[1, 2, 3].exists(x, x > 2)", 23, 29, 19],
  ["[1, 2, 3].exists_one(x, x > 2)", 21, 24, 10],
  ["[1, 2, 3].map(x, x * 2)", 63, 63, 43],
  ["[1, 2, 3].filter(x, x > 1)", 30, 66, 33],
  ["'abc'.contains('b')", 1, 1, 1],
  ["'abcdefghijklmnopqrstuvwxyz'.matches('^[a-z]*$')", 6, 6, 6],
  ["'a' in ['a', 'b']", 12, 12, 0],
  ["{'a': 1}.a == 1", 32, 32, 3],
  ["has({'a': 1}.a)", 30, 30, 1],
  ["true ? 1 : 2", 0, 0, 0],
  ["'abc' + 'def' == 'abcdef'", 2, 2, 2],
  ["'a,b,c'.split(',').size() == 3", 3, 3, 3],
  ["quantity('1Gi').isGreaterThan(quantity('1Mi'))", 3, 3, 3],
  ["url('https://example.com/x') == url('https://example.com/x')", 7, 9, 7],
  ["ip('10.0.0.1').isLoopback()", 2, 2, 2],
  ["cidr('10.0.0.0/8').containsIP('10.0.0.1')", 3, 6, 3],
  ["[3, 1, 2].sort() == [1, 2, 3]", 50, 50, 30],
  ["sets.contains([1, 2, 3], [2])", 24, 24, 4],
  ["format.dns1123Label().validate('abc').hasValue()", 34, 34, 10],
  ["'%s'.format(['abc'])", 11, 11, 1],
  ["[1, 2].sum() == 3", 13, 13, 3],
  ["optional.of(1).orValue(2) == 1", 3, 3, 2],
];

describe("cost is counted as kube-apiserver counts it", () => {
  test.each(recorded)("%s", (source, min, max, actual) => {
    expect(costs(source)).toEqual({ min, max, actual });
  });
});

test("what has no bound costs without bound", () => {
  const checked = compileToChecked("string(1 + 1) + 'a' == 'b'", kubernetesEnvironment);
  if (checked instanceof CelIssues) throw checked.toError();
  expect(estimateCost(checked).max).toBeGreaterThan(unbounded / 100);
});

test("an actual cost is never above the estimate's most for literals", () => {
  for (const [source] of recorded) {
    const { max, actual } = costs(source);
    expect(actual).toBeLessThanOrEqual(max);
  }
});
