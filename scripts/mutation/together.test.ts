import { stripTypeScriptTypes } from "node:module";
import { expect, test } from "vitest";
import { mutantsOf } from "./mutants.ts";
import { isAwake, together } from "./together.ts";

/** What the program gives as it is, and with each of its mistakes. */
function results(source: string): { readonly as: unknown; readonly with: Record<string, unknown> } {
  const mutants = mutantsOf("a.ts", source);
  const program = new Function(
    isAwake,
    `${stripTypeScriptTypes(together(source, mutants, 5))}; return program()`,
  );
  const run = (awake?: number) => program((id: number) => id === awake);
  return {
    as: run(),
    with: Object.fromEntries(mutants.map(({ change }, index) => [change, run(5 + index)])),
  };
}

test("one mistake is made at a time, also where one is within another", () => {
  expect(results("const program = () => { if (1 === 2 - 1) return [3]; return 4; };")).toEqual({
    as: [3],
    with: {
      "if (1 === 2 - 1) is always true": [3],
      "if (1 === 2 - 1) is always false": 4,
      "=== becomes !==": 4,
      "1 becomes 2": 4,
      "- becomes +": 4,
      "2 becomes 3": 4,
      "returns undefined for [3]": undefined,
      "[3] is empty": [],
      "3 becomes 4": [4],
      "returns undefined for 4": [3],
      "4 becomes 5": [3],
    },
  });
});

test("a call may be left out, before an else as well", () => {
  const { as, with: mistaken } = results(
    "const program = () => { const out: string[] = []; const say = (s: string) => { out.push(s); }; if (out.length > 0) say('a'); else say('b'); return out; };",
  );
  expect(as).toEqual(["b"]);
  expect(mistaken).toMatchObject({
    "say('b') is left out": [],
    "say('a') is left out": ["b"],
    "> becomes >=": ["a"],
    "if (out.length > 0) is always true": ["a"],
  });
});
