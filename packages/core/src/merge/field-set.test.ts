import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../json.ts";
import type { JsonObject } from "../object.ts";
import { FieldSet } from "./field-set.ts";
import { compareElements, displayPath, keyElement, type PathElement, valueElement } from "./path.ts";

const text = (fields: JsonObject) => JSON.stringify(FieldSet.fromJson(fields).toJson());

describe("path elements", () => {
  test("keys are named in order, whatever order they come in", () => {
    expect(keyElement({ protocol: "TCP", port: 80 })).toBe('k:{"port":80,"protocol":"TCP"}');
  });

  test("values escape what HTML would read, as the server writes them", () => {
    expect(valueElement("<a&b>")).toBe('v:"\\u003ca\\u0026b\\u003e"');
    expect(valueElement("\u2028")).toBe('v:"\\u2028"');
  });

  test("a path shows fields, keys, values and indices", () => {
    expect(displayPath(["f:spec", 'k:{"name":"a","port":80}', "f:x", 'v:"y"', "i:3"])).toBe(
      '.spec[name="a",port=80].x[="y"][3]',
    );
    expect(displayPath(['v:"a\\"b\\n"', "v:true", "v:1.5", "v:null"])).toBe(
      '[="a\\"b\\n"][=true][=1.5][=null]',
    );
  });

  test("fields come before keys, keys before values, values before indices; numbers compare as numbers", () => {
    const sorted: PathElement[] = [
      "f:a",
      "f:b",
      "f:\uff5e",
      "f:\u{1f600}",
      'k:{"port":9}',
      'k:{"port":80}',
      'k:{"port":80,"protocol":"TCP"}',
      'k:{"port":"80"}',
      'k:{"port":true}',
      'k:{"q":1}',
      "v:2",
      "v:10",
      'v:"10"',
      'v:"2"',
      "v:false",
      "v:true",
      "v:[1]",
      "v:null",
      "i:2",
      "i:10",
    ];
    expect([...sorted].reverse().sort(compareElements)).toEqual(sorted);
  });
});

describe("reading and writing", () => {
  test("elements are written in the server's order, the set's own mark first", () => {
    const given = { "f:b": { 'k:{"port":8080}': {}, 'k:{"port":80}': { "f:x": {}, ".": {} } }, "f:a": {} };
    expect(text(given)).toBe(
      '{"f:a":{},"f:b":{"k:{\\"port\\":80}":{".":{},"f:x":{}},"k:{\\"port\\":8080}":{}}}',
    );
  });

  test("a container without a mark is not a member, one with it is", () => {
    const set = FieldSet.fromJson({ "f:a": { "f:b": {} }, "f:c": { ".": {}, "f:d": {} } });
    expect(set.has(["f:a"])).toBe(false);
    expect(set.has(["f:a", "f:b"])).toBe(true);
    expect(set.has(["f:c"])).toBe(true);
    expect([...set.paths()].map(displayPath)).toEqual([".c", ".a.b", ".c.d"]);
  });

  test("elements of unknown kinds are dropped, keys are brought into order", () => {
    expect(text({ "x:new": {}, 'k:{"b":1, "a":2}': {} })).toBe('{"k:{\\"a\\":2,\\"b\\":1}":{}}');
  });

  test("what cannot be read is refused", () => {
    const all: JsonObject[] = [{ f: {} }, { "k:[1]": {} }, { "v:{": {} }, { "i:x": {} }, { "f:a": 1 }];
    for (const broken of all) {
      expect(() => FieldSet.fromJson(broken)).toThrow(expect.objectContaining({ code: "BadManagedFields" }));
    }
  });

  test("the written form is frozen and made once", () => {
    const set = FieldSet.of(["f:a", "f:b"]);
    expect(set.toJson()).toBe(set.toJson());
    expect(Object.isFrozen(set.toJson()["f:a"])).toBe(true);
    expect(FieldSet.fromJson(set.toJson())).toBe(set);
  });

  test("an object that is not frozen is read again each time", () => {
    const fields: JsonObject = { "f:a": {} };
    FieldSet.fromJson(fields);
    fields["f:b"] = {};
    expect(FieldSet.fromJson(fields).has(["f:b"])).toBe(true);
  });

  test("nobody owns a whole object", () => {
    expect(FieldSet.of([]).isEmpty).toBe(true);
  });
});

describe("set operations", () => {
  const parent = FieldSet.of(["f:a"]);
  const child = FieldSet.of(["f:a", "f:b"]);

  test("a difference leaves children of what it takes, a recursive one does not", () => {
    expect(child.difference(parent).equals(child)).toBe(true);
    expect(parent.difference(child).equals(parent)).toBe(true);
    expect(child.recursiveDifference(parent).isEmpty).toBe(true);
    expect(parent.recursiveDifference(child).equals(parent)).toBe(true);
  });

  test("leaves are members without members below", () => {
    expect(JSON.stringify(parent.union(child).leaves().toJson())).toBe('{"f:a":{"f:b":{}}}');
  });

  test("an operation without effect returns the set itself", () => {
    const set = FieldSet.of(["f:a", "f:b"], ["f:c"]);
    expect(set.union(FieldSet.of(["f:c"]))).toBe(set);
    expect(set.difference(FieldSet.of(["f:x"]))).toBe(set);
    expect(set.intersection(set.union(FieldSet.of(["f:x"])))).toBe(set);
  });

  const element = fc.constantFrom("f:a", "f:b", 'k:{"n":1}', 'v:"x"', "i:0");
  const set = fc
    .array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 8 })
    .map((paths) => FieldSet.of(...paths));
  const members = (s: FieldSet) => new Set([...s.paths()].map((path) => path.join(" ")));

  test("an equal set stands for another, and no other does", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(a.shared().equals(a)).toBe(true);
        expect(FieldSet.of(...[...a.paths()].reverse()).shared()).toBe(a.shared());
        b.shared();
        expect(a.shared().equals(a)).toBe(true);
      }),
    );
  });

  test("union, intersection and difference are those of the paths", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(members(a.union(b))).toEqual(members(a).union(members(b)));
        expect(members(a.intersection(b))).toEqual(members(a).intersection(members(b)));
        expect(members(a.difference(b))).toEqual(members(a).difference(members(b)));
        expect(a.size).toBe(members(a).size);
      }),
    );
  });

  test("a recursive difference takes every path that has one of the other's as a beginning", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        const gone = [...members(b)];
        const left = [...members(a)].filter(
          (path) => !gone.some((begin) => `${path} `.startsWith(`${begin} `)),
        );
        expect(members(a.recursiveDifference(b))).toEqual(new Set(left));
      }),
    );
  });

  test("equal sets are written alike, and reading undoes writing", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(a.equals(b)).toBe(JSON.stringify(a.toJson()) === JSON.stringify(b.toJson()));
        const copy = parseJson(JSON.stringify(a.toJson())) as JsonObject;
        expect(FieldSet.fromJson(copy).equals(a)).toBe(true);
      }),
    );
  });
});
