import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalJson,
  compareBytes,
  deepCopy,
  deepEqual,
  deepFreeze,
  isRawNumber,
  numberFromDigits,
  parseJson,
} from "./json.ts";

describe("parsing and printing", () => {
  test("an integer beyond 2^53 prints as it was read", () => {
    const text = '{"a":[9007199254740993,-12345678901234567890],"b":18446744073709551615}';
    expect(JSON.stringify(parseJson(text))).toBe(text);
  });

  test("a document that is one large integer keeps it", () => {
    expect(JSON.stringify(parseJson("12345678901234567890"))).toBe("12345678901234567890");
  });

  test("exact numbers stay numbers, and digits in strings are left alone", () => {
    const text = '{"n":9007199254740991,"f":1.5,"e":1e21,"s":": 12345678901234567890"}';
    const value = parseJson(text) as Record<string, unknown>;
    expect(value).toEqual({ n: 9007199254740991, f: 1.5, e: 1e21, s: ": 12345678901234567890" });
    expect(isRawNumber(value.n)).toBe(false);
  });

  test("a raw number survives a copy and equals itself only", () => {
    const value = parseJson('{"a":12345678901234567890}');
    expect(JSON.stringify(deepCopy(value))).toBe('{"a":12345678901234567890}');
    expect(deepEqual(value, parseJson('{"a":12345678901234567890}'))).toBe(true);
    expect(deepEqual(value, parseJson('{"a":12345678901234567891}'))).toBe(false);
    expect(deepEqual(value, parseJson('{"a":12345678901234567000}'))).toBe(false);
  });

  test("digits become a number where that is exact", () => {
    expect(numberFromDigits("42")).toBe(42);
    expect(isRawNumber(numberFromDigits("9007199254740993"))).toBe(true);
  });

  test("what JSON.parse reads right, parseJson reads alike", () => {
    const unescaped = fc.json().filter((text) => !text.includes("\\"));
    fc.assert(
      fc.property(unescaped, (text) => {
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });
});

describe("canonical JSON", () => {
  test("keys stand in byte order, undefined properties are absent", () => {
    expect(canonicalJson({ b: 1, a: [{ d: null, c: undefined }] })).toBe('{"a":[{"d":null}],"b":1}');
  });

  test("byte order puts a character above U+FFFF after all others, where UTF-16 order does not", () => {
    expect(canonicalJson({ "\u{1f600}": 1, "\uff5e": 2 })).toBe('{"\uff5e":2,"\u{1f600}":1}');
    expect(compareBytes("\u{1f600}", "\uff5e")).toBeGreaterThan(0);
  });

  test("the order is that of the UTF-8 bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
        expect(Math.sign(compareBytes(a, b))).toBe(bytes);
      }),
    );
  });

  test("equal values print alike", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const again = parseJson(canonicalJson(value)) as unknown;
        expect(canonicalJson(again)).toBe(canonicalJson(value));
      }),
    );
  });
});

describe("comparing, copying, freezing", () => {
  test("a copy is equal and shares nothing", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = deepCopy(value);
        expect(deepEqual(copy, value)).toBe(true);
        if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  test("equality is that of canonical JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
        expect(deepEqual(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
      }),
    );
  });

  test("an undefined property counts as absent", () => {
    expect(deepEqual({ a: 1, b: undefined }, { a: 1 })).toBe(true);
    expect(deepEqual({ a: undefined }, { b: undefined })).toBe(true);
    expect(deepEqual({ a: undefined }, { a: null })).toBe(false);
  });

  test("an array is never an object", () => {
    expect(deepEqual([], {})).toBe(false);
    expect(deepEqual({ 0: 1 }, [1])).toBe(false);
  });

  test("a key named __proto__ is copied as data", () => {
    const value = parseJson('{"__proto__":{"polluted":true}}');
    expect(JSON.stringify(deepCopy(value))).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("a frozen value throws when something inside it is changed", () => {
    const value = deepFreeze({ a: { b: [{ c: 1 }] } });
    expect(() => {
      (value.a.b[0] as { c: number }).c = 2;
    }).toThrow(TypeError);
  });
});
