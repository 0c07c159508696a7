import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../object.ts";
import { listType, mapType, objectMetaType, scalarType, structType, untypedAtomic } from "./schema.ts";
import { applyStrategicPatch } from "./strategic.ts";

const text = scalarType("string");
const item = structType({
  name: text,
  value: text,
  labels: mapType(text),
  ports: {
    type: listType(structType({ port: scalarType("numeric"), name: text }), { keys: ["port"] }),
    patchStrategies: ["merge"],
    patchMergeKey: "port",
  },
});
const type = structType({
  metadata: objectMetaType,
  items: { type: listType(item, { keys: ["name"] }), patchStrategies: ["merge"], patchMergeKey: "name" },
  words: { type: listType(text, "set"), patchStrategies: ["merge"] },
  atomic: listType(item, "atomic"),
  whole: { type: structType({ a: text, b: text }), patchStrategies: ["replace"] },
  choice: { type: structType({ kind: text, one: text, two: text }), patchStrategies: ["retainKeys"] },
  volumes: {
    type: listType(structType({ name: text, a: text, b: text }), { keys: ["name"] }),
    patchStrategies: ["merge", "retainKeys"],
    patchMergeKey: "name",
  },
  keyless: { type: listType(item, "atomic"), patchStrategies: ["merge"] },
  free: mapType(structType({ a: text })),
  lists: { type: listType(untypedAtomic, "atomic"), patchStrategies: ["merge"] },
});
const patched = (object: JsonObject, patch: JsonObject) => applyStrategicPatch(object, patch, type);
const names = (object: JsonObject, field = "items") =>
  (object[field] as JsonObject[]).map(({ name }) => name);

describe("objects", () => {
  test("merge, null removes, scalars replace", () => {
    expect(
      patched({ metadata: { labels: { a: "1", b: "2" } } }, { metadata: { labels: { a: null, c: "3" } } }),
    ).toEqual({
      metadata: { labels: { b: "2", c: "3" } },
    });
  });

  test("a null in a new value means nothing", () => {
    expect(patched({}, { choice: { one: "x", two: null } })).toEqual({ choice: { one: "x" } });
  });

  test("$patch replaces or empties an object", () => {
    const object = { choice: { kind: "k", one: "1" } };
    expect(patched(object, { choice: { $patch: "replace", two: "2" } })).toEqual({ choice: { two: "2" } });
    expect(patched(object, { choice: { $patch: "delete" } })).toEqual({ choice: {} });
    expect(patched({}, { choice: { $patch: "delete" } })).toEqual({});
  });

  test("a field with the strategy replace is replaced", () => {
    expect(patched({ whole: { a: "1" } }, { whole: { b: "2" } })).toEqual({ whole: { b: "2" } });
  });

  test("$retainKeys drops every key it does not list", () => {
    const object = { choice: { kind: "k", one: "1" } };
    expect(patched(object, { choice: { $retainKeys: ["kind", "two"], two: "2" } })).toEqual({
      choice: { kind: "k", two: "2" },
    });
    expect(() => patched(object, { choice: { $retainKeys: ["kind"], two: "2" } })).toThrow(
      expect.objectContaining({ code: "BadPatch", message: "invalid patch format of retainKeys" }),
    );
  });

  test("a value of another type replaces", () => {
    expect(patched({ items: { odd: true } }, { items: [{ name: "a" }] })).toEqual({ items: [{ name: "a" }] });
  });

  test("objects in a plain map do not merge: the server fails", () => {
    expect(() => patched({ free: { x: { a: "1" } } }, { free: { x: { a: "2" } } })).toThrow(
      expect.objectContaining({
        code: "PatchUnusable",
        message: "merging an object in json but data type is not struct, instead is: map",
      }),
    );
  });
});

describe("lists of objects", () => {
  const three = {
    items: [
      { name: "a", value: "1" },
      { name: "b", value: "2" },
      { name: "c", value: "3" },
    ],
  };

  test("items merge by key, new ones join, and the patch's order wins among its own", () => {
    const result = patched(three, { items: [{ name: "d" }, { name: "b", value: "9" }] });
    expect(names(result)).toEqual(["d", "a", "b", "c"]);
    expect(result.items).toContainEqual({ name: "b", value: "9" });
  });

  test("nested lists merge by their own keys", () => {
    const object: JsonObject = { items: [{ name: "a", ports: [{ port: 1, name: "x" }, { port: 2 }] }] };
    expect(patched(object, { items: [{ name: "a", ports: [{ port: 2, name: "y" }, { port: 3 }] }] })).toEqual(
      {
        items: [{ name: "a", ports: [{ port: 1, name: "x" }, { port: 2, name: "y" }, { port: 3 }] }],
      },
    );
  });

  test("$patch: delete takes an item out, $patch: replace takes all others out", () => {
    expect(names(patched(three, { items: [{ name: "b", $patch: "delete" }] }))).toEqual(["a", "c"]);
    expect(patched(three, { items: [{ name: "z" }, { $patch: "replace" }] })).toEqual({
      items: [{ name: "z" }],
    });
  });

  test("a list without a merge strategy is replaced", () => {
    expect(patched({ atomic: [{ name: "a" }] }, { atomic: [{ name: "b" }] })).toEqual({
      atomic: [{ name: "b" }],
    });
  });

  test("items with $retainKeys keep only those keys", () => {
    const object = { volumes: [{ name: "v", a: "1" }] };
    expect(patched(object, { volumes: [{ name: "v", $retainKeys: ["name", "b"], b: "2" }] })).toEqual({
      volumes: [{ name: "v", b: "2" }],
    });
  });

  test("$setElementOrder orders items of both sides", () => {
    const order = { "$setElementOrder/items": [{ name: "c" }, { name: "b" }, { name: "a" }] };
    expect(names(patched(three, order))).toEqual(["c", "b", "a"]);
    const result = patched(three, {
      "$setElementOrder/items": [{ name: "c" }, { name: "a" }],
      items: [{ name: "c", value: "9" }],
    });
    expect(names(result)).toEqual(["b", "c", "a"]);
  });

  test("a new item takes the place of a deleted one, as the server's own merge leaves it", () => {
    const result = patched(
      { items: [{ name: "a" }, { name: "d" }] },
      {
        "$setElementOrder/items": [{ name: "d" }, { name: "b" }],
        items: [{ name: "d", $patch: "delete" }, { name: "b" }],
      },
    );
    expect(names(result)).toEqual(["a", "b"]);
    const moved = patched(
      { items: [{ name: "a" }, { name: "b" }, { name: "c" }, { name: "d" }] },
      {
        "$setElementOrder/items": [{ name: "x" }, { name: "y" }],
        items: [{ name: "b", $patch: "delete" }, { name: "x" }, { name: "y" }],
      },
    );
    expect(names(moved)).toEqual(["a", "c", "d", "x", "y"]);
  });

  test("a patch list that contradicts its order is refused", () => {
    expect(() =>
      patched(three, {
        "$setElementOrder/items": [{ name: "a" }, { name: "b" }],
        items: [{ name: "b" }, { name: "a" }],
      }),
    ).toThrow("doesn't match $setElementOrder list");
  });

  test.each<[string, JsonObject, string]>([
    [
      "an item without its key",
      { items: [{ value: "1" }] },
      "map: map[value:1] does not contain declared merge key: name",
    ],
    [
      "an unknown directive",
      { items: [{ name: "a", $patch: "bogus" }] },
      "unknown patch type: bogus in map: map[$patch:bogus name:a]",
    ],
    [
      "the directive merge",
      { items: [{ name: "a", $patch: "merge" }] },
      "merging lists cannot yet be specified in the patch",
    ],
    ["items of several types", { items: [{ name: "a" }, "b"] }, "list element types are not identical"],
  ])("%s is unusable", (_name, patch, message) => {
    expect(() => patched(three, patch)).toThrow(
      expect.objectContaining({ code: "PatchUnusable", message: expect.stringContaining(message) }),
    );
  });

  test("a list to merge without a merge key is unusable, a list of lists is refused", () => {
    expect(() => patched({ keyless: [{ name: "a" }] }, { keyless: [{ name: "b" }] })).toThrow(
      "cannot merge lists without merge key for struct",
    );
    expect(() => patched({ lists: [["a"]] }, { lists: [["b"]] })).toThrow(
      expect.objectContaining({ code: "PatchFailed", message: "lists of lists are not supported" }),
    );
  });
});

describe("lists of scalars", () => {
  test("merge without repetition", () => {
    expect(patched({ words: ["a", "b"] }, { words: ["c", "b"] })).toEqual({ words: ["c", "a", "b"] });
  });

  test("$deleteFromPrimitiveList takes items out", () => {
    expect(patched({ words: ["a", "b", "c"] }, { "$deleteFromPrimitiveList/words": ["a", "c"] })).toEqual({
      words: ["b"],
    });
    expect(patched({}, { "$deleteFromPrimitiveList/words": ["a"] })).toEqual({});
    expect(() => patched({}, { $deleteFromPrimitiveList: ["a"] })).toThrow(
      "invalid patch format of primitive list",
    );
  });

  test("$setElementOrder orders them", () => {
    expect(
      patched({ words: ["a", "b"] }, { "$setElementOrder/words": ["c", "b", "a"], words: ["c"] }),
    ).toEqual({ words: ["c", "b", "a"] });
    expect(() => patched({}, { $setElementOrder: ["a"] })).toThrow(
      "invalid patch format of setElementOrder list",
    );
  });
});

test("neither the object nor the patch is changed", () => {
  const object = { items: [{ name: "a", labels: { x: "1" } }], words: ["a"] };
  const patch = {
    "$setElementOrder/items": [{ name: "b" }, { name: "a" }],
    items: [{ name: "b" }],
    words: ["b", "a"],
  };
  const before = JSON.stringify([object, patch]);
  patched(object, patch);
  expect(JSON.stringify([object, patch])).toBe(before);
});

describe("laws", () => {
  const word = fc.constantFrom("a", "b", "c", "d");
  const labels = fc.dictionary(word, word, { maxKeys: 3 });
  const element = fc.record({ name: word, value: word, labels }, { requiredKeys: ["name"] });
  const elements = fc.uniqueArray(element, { selector: ({ name }) => name, maxLength: 4 });
  const words = fc.uniqueArray(word, { maxLength: 4 });
  const parts = {
    items: elements,
    words,
    atomic: elements,
    whole: labels,
    choice: fc.record({ kind: word }),
  };
  const object = fc.record(parts, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
  const patch = object;
  const list = (value: JsonObject) => (value.items ?? []) as { name: string }[];

  test("a patch of nothing changes nothing, and no input is ever changed", () => {
    fc.assert(
      fc.property(object, patch, (before, change) => {
        expect(patched(before, {})).toEqual(before);
        const [copy, sent] = [structuredClone(before), structuredClone(change)];
        patched(before, change);
        expect([before, change]).toEqual([copy, sent]);
      }),
    );
  });

  test("the same patch twice is the same as once", () => {
    fc.assert(
      fc.property(object, patch, (before, change) => {
        const once = patched(before, change);
        expect(patched(once, change)).toEqual(once);
      }),
    );
  });

  test("items of a merged list are those of both, each once, and those not mentioned in their order", () => {
    fc.assert(
      fc.property(object, patch, (before, change) => {
        const namesIn = (value: JsonObject) => list(value).map(({ name }) => name);
        const [old, said, after] = [namesIn(before), namesIn(change), namesIn(patched(before, change))];
        expect(new Set(after)).toEqual(new Set([...old, ...said]));
        expect(new Set(after).size).toBe(after.length);
        const others = (all: string[]) => all.filter((name) => !said.includes(name));
        expect(others(after)).toEqual(others(old));
      }),
    );
  });

  test("what a patch says of an item is so afterwards, and what it does not mention stays", () => {
    fc.assert(
      fc.property(object, patch, (before, change) => {
        const after = new Map(list(patched(before, change)).map((each) => [each.name, each as JsonObject]));
        const old = new Map(list(before).map((each) => [each.name, each as JsonObject]));
        for (const said of list(change) as (JsonObject & { name: string })[]) {
          const found = after.get(said.name) as JsonObject;
          expect(found.value).toBe(said.value ?? old.get(said.name)?.value);
          for (const [key, value] of Object.entries((said.labels ?? {}) as JsonObject))
            expect((found.labels as JsonObject)[key]).toBe(value);
        }
        for (const [name, each] of old)
          if (!list(change).some((said) => said.name === name)) expect(after.get(name)).toEqual(each);
      }),
    );
  });

  test("null takes away what is there", () => {
    fc.assert(
      fc.property(object, word, (before, label) => {
        const [first] = list(before);
        if (!first) return;
        const after = patched(before, { items: [{ name: first.name, labels: { [label]: null } }] });
        const found = list(after).find(({ name }) => name === first.name) as JsonObject;
        const kept = { ...((first as JsonObject).labels as JsonObject | undefined) };
        delete kept[label];
        expect(found.labels ?? {}).toEqual(kept);
      }),
    );
  });

  test("what is deleted by name is gone, and nothing else", () => {
    fc.assert(
      fc.property(object, word, (before, name) => {
        const after = patched(before, { items: [{ name, $patch: "delete" }] });
        expect(list(after)).toEqual(list(before).filter((each) => each.name !== name));
      }),
    );
  });

  test("what is replaced has nothing of before", () => {
    fc.assert(
      fc.property(object, elements, (before, items) => {
        const after = patched(before, { items: [{ $patch: "replace" }, ...items] as JsonObject[] });
        expect(list(after)).toEqual(items);
      }),
    );
  });
});
