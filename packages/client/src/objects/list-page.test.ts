import { parseJson } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readListPage } from "./list-page.ts";

function read(text: string) {
  const page = readListPage(Buffer.from(text));
  return { envelope: page.envelope, items: [...page.items].map((item) => parseJson(item.toString("utf8"))) };
}

describe("list page", () => {
  it("gives each item and the frame, for any JSON and any white space", () => {
    const tricky = fc.oneof(fc.constantFrom("items", 'a"b', "\\", "]}", "é😀", '"items":['), fc.string());
    const item = fc.dictionary(
      tricky,
      fc.jsonValue().map((value) => value as unknown),
    );
    fc.assert(
      fc.property(
        fc.array(item),
        fc.dictionary(tricky, fc.jsonValue()),
        fc.constantFrom(undefined, 2),
        (items, more, indent) => {
          const { items: _items, metadata: _metadata, ...rest } = more;
          const list = { ...rest, metadata: { resourceVersion: "5", items: [1] }, items, after: "x" };
          const page = read(JSON.stringify(list, null, indent));
          expect(page.items).toEqual(parseJson(JSON.stringify(items)));
          expect(page.envelope).toEqual(parseJson(JSON.stringify({ ...list, items: [] })));
        },
      ),
    );
  });

  it("takes a list without items, or with null, for an empty one", () => {
    expect(read('{"metadata":{"resourceVersion":"1"},"items":null}').items).toEqual([]);
    expect(read('{"metadata":{"resourceVersion":"1"}}').envelope.metadata?.resourceVersion).toBe("1");
  });

  it("throws for a list that was cut off", () => {
    expect(() => read('{"items":[{"a":"b')).toThrow(SyntaxError);
    expect(() => read('{"items":[{"a":1}')).toThrow(SyntaxError);
    expect(() => read("<html>")).toThrow(SyntaxError);
  });
});
