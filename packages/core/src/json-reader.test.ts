import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "./json.ts";
import { hasEscapedKey, readJson } from "./json-reader.ts";

const tricky = fc.string({ unit: fc.constantFrom('"', "\\", ":", "{", "}", ",", " ", "a", "u", "é", "\n") });
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    tricky,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, 0, -1),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(tricky, fc.constant("__proto__")), tie("value"), { maxKeys: 4 }),
  ),
})).value;
const indent = fc.constantFrom(undefined, 1, "\t");

describe("a text with escaped keys", () => {
  test("is noticed, and no other text is", () => {
    fc.assert(
      fc.property(value, indent, (given, space) => {
        const escaped = keysOf(given).some((key) => JSON.stringify(key).includes("\\"));
        expect(hasEscapedKey(JSON.stringify(given, null, space))).toBe(escaped);
      }),
    );
  });

  test("is read as it was written", () => {
    fc.assert(
      fc.property(value, indent, (given, space) => {
        const text = JSON.stringify(given, null, space);
        expect(JSON.stringify(readJson(text, Number))).toBe(JSON.stringify(given));
      }),
    );
  });

  test("is refused exactly where JSON.parse refuses it", () => {
    const damage = fc.constantFrom(
      "",
      '"',
      "\\",
      ",",
      ":",
      "{",
      "}",
      "[",
      "]",
      "0",
      "-",
      ".",
      "e",
      "\u0001",
      "tru",
    );
    fc.assert(
      fc.property(value, fc.nat(), damage, fc.nat(3), (given, at, inserted, removed) => {
        const text = JSON.stringify(given);
        const place = at % (text.length + 1);
        const damaged = text.slice(0, place) + inserted + text.slice(place + removed);
        expect(outcome(() => readJson(damaged, Number))).toBe(outcome(() => JSON.parse(damaged)));
      }),
      { numRuns: 2000 },
    );
  });

  test("is read however deep it is", () => {
    const depth = 200_000;
    expect(() => readJson(`${"[".repeat(depth)}${"]".repeat(depth)}`, Number)).not.toThrow();
  });
});

/** Whether it is valid; for what both can read, the values are compared above. */
function outcome(read: () => unknown): "valid" | "invalid" {
  try {
    read();
    return "valid";
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return "invalid";
  }
}

function keysOf(given: unknown): string[] {
  if (typeof given !== "object" || given === null) return [];
  if (Array.isArray(given)) return given.flatMap(keysOf);
  return Object.entries(given).flatMap(([key, item]) => [key, ...keysOf(item)]);
}

/** This Node, and those that `npm run attack` has brought into the cache. */
const cache = join(homedir(), ".cache", "keelson", "node");
const cached = existsSync(cache) ? readdirSync(cache).map((name) => join(cache, name, "bin", "node")) : [];

describe("one text does not change how another is read", () => {
  test("in this process, whatever was read before", () => {
    fc.assert(
      fc.property(tricky, tricky, (first, second) => {
        for (const key of [first, second]) {
          const text = JSON.stringify({ a: 1, [key]: 1 });
          expect(Object.keys(parseJson(text) as object)).toEqual(Object.keys({ a: 1, [key]: 1 }));
        }
      }),
      { numRuns: 2000 },
    );
  });

  test.for([process.execPath, ...cached.filter((path) => existsSync(path))])("in %s", (node) => {
    const module = fileURLToPath(new URL("./json.ts", import.meta.url));
    const output = execFileSync(
      node,
      ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", poisoning(module)],
      {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    expect(output).toBe("");
  });
});

/** Prints each text that is read wrongly after another one. Each pair has a place of its own, so that none helps another. */
function poisoning(module: string): string {
  return `
    import { parseJson } from ${JSON.stringify(module)};
    const pairs = [
      ['\\\\"', '"}'],
      ['k:{\\\\"name\\\\":\\\\"', 'k:{"name":"xyz"}'],
      ['\\\\u00', 'Abcd'],
      ['\\\\n', 'a\\n'],
    ];
    const ways = {
      text: (first, poison) => parseJson(JSON.stringify({ [first]: 1, [poison]: 1 })),
      escape: (first, poison) => parseJson(JSON.stringify({ [first]: 1, [poison]: 1 }).replaceAll("\\\\\\\\", "\\\\u005c")),
      literal: (first, poison) => ({ [first]: 1, [poison]: 1 }),
      assigned: (first, poison) => { const o = parseJson(JSON.stringify({ [first]: 1 })); o[poison] = 1; },
    };
    for (const [way, poisoned] of Object.entries(ways)) for (const [i, [poison, victim]] of pairs.entries()) {
      const first = way + i;
      poisoned(first, poison);
      const text = JSON.stringify({ [first]: 1, [victim]: 1 });
      const read = JSON.stringify(parseJson(text));
      if (read !== text) console.log(way, text, "was read as", read);
      const list = JSON.stringify([{ [first + 1]: 1, [poison]: 1 }, { [first + 1]: 1, [victim]: 1 }]);
      if (JSON.stringify(parseJson(list)) !== list) console.log(way, list, "was read wrongly");
    }`;
}

test("a string that is kept does not keep the text that it came in", () => {
  const before = process.memoryUsage().heapUsed;
  const kept: unknown[] = [];
  for (let i = 0; i < 120; i++) {
    const text = `{"\\u0061":1,"big":"${String(i).padEnd(1 << 20, "x")}","small":"more than twelve characters"}`;
    kept.push((parseJson(text) as { small: string }).small);
  }
  expect(kept).toHaveLength(120);
  // Each text has 1 MiB; what was not collected yet is a part of them.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(80 << 20);
});
