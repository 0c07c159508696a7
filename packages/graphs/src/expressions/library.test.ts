/** The functions of graphs, on the values that kro's documentation and its users rely on. */
import { compile, Program, toJson } from "@keelson/cel";
import { expect, test } from "vitest";
import { graphEnvironment } from "./environment.ts";

function evaluate(text: string): unknown {
  const program = compile(text, graphEnvironment);
  if (!(program instanceof Program)) throw new Error(String(program));
  return toJson(program.evaluate().value);
}

test.each([
  ["base64.encode(hash.sha256('hello'))", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="],
  ["base64.encode(hash.md5('hello'))", "XUFAKrxLKna5cZ2REBfFkg=="],
  ["base64.encode(hash.fnv64a('hello'))", "pDDYRoCqvQs="],
  ["json.unmarshal('{\"a\": [1, 2]}').a[1]", 2],
  ["json.marshal({'b': 1, 'a': [true, null]})", '{"a":[true,null],"b":1}'],
  ["lists.setAtIndex([1, 2, 3], 1, 9)", [1, 9, 3]],
  ["lists.insertAtIndex([1, 2], 2, 9)", [1, 2, 9]],
  ["lists.removeAtIndex([1, 2, 3], 0)", [2, 3]],
  ["{'a': 1}.merge({'a': 2, 'b': 3})", { a: 2, b: 3 }],
  ["{'a': {'x': 1}}.deepMerge({'a': {'y': 2}})", { a: { x: 1, y: 2 } }],
  ["random.seededString(6, 'seed') == random.seededString(6, 'seed')", true],
  ["size(random.seededString(40, 'seed'))", 40],
  ["random.seededInt(30000, 32768, 'x') >= 30000", true],
  ["['a', 'b'].join('-')", "a-b"],
  ["'a.b.c'.split('.').slice(0, 2).join('.')", "a.b"],
  ["quantity('500Mi').isLessThan(quantity('1Gi'))", true],
  ["[1, 2].transformMapEntry(i, v, {string(i): v})", { 0: 1, 1: 2 }],
])("%s", (text, expected) => {
  expect(evaluate(text)).toEqual(expected);
});
