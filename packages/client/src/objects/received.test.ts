import { parseJson } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigMap } from "../../test/kinds.ts";
import { receiveEvent, receiveItem } from "./receive.ts";
import { Decoding, uidIn, versionIn } from "./received.ts";

const trimmed = new Decoding({ kind: ConfigMap, dropManagedFields: true });
const whole = new Decoding({ kind: ConfigMap });

function copyOf(received: ReturnType<typeof receiveItem>): Buffer {
  const copy = Buffer.alloc(received.byteLength + 2);
  received.copyTo(copy, 1);
  return copy.subarray(1, -1);
}

const item = (object: unknown, indent?: number) => Buffer.from(JSON.stringify(object, null, indent));

describe("a received object", () => {
  const word = fc.oneof(
    fc.constantFrom("metadata", "name", "managedFields", "resourceVersion", "uid", 'a"b', "\\", "]}", "ü😀"),
    fc.string(),
  );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      word,
      fc.integer(),
      fc.constantFrom(null, true, 1.5e-7),
      fc.array(tie("value")),
      fc.dictionary(word, tie("value")),
    ),
  })).value;

  it("says what parsing says, and its copy parses to the same, whatever the object", () => {
    fc.assert(
      fc.property(
        fc.dictionary(word, value),
        fc.dictionary(word, value),
        fc.record({ name: word, resourceVersion: word }),
        fc.option(fc.array(value), { nil: undefined }),
        fc.constantFrom(undefined, undefined, 1),
        (around, meta, identity, managedFields, indent) => {
          const object = {
            ...around,
            kind: "ConfigMap",
            apiVersion: "v1",
            metadata: { ...meta, uid: "u", ...identity, managedFields, namespace: "n" },
            spec: around,
          };
          const { managedFields: _, ...metadata } = object.metadata;
          const expected = parseJson(JSON.stringify({ ...object, metadata }));
          const received = receiveItem(item(object, indent), trimmed);
          expect(received.key).toBe(`n/${identity.name}`);
          expect(received.resourceVersion).toBe(identity.resourceVersion);
          expect(received.uid).toBe("u");
          if (received.decoder) {
            const copy = copyOf(received);
            expect(received.decoder(copy)).toEqual(expected);
            expect(parseJson(copy.toString())).toEqual(expected);
            expect(versionIn(copy)).toBe(identity.resourceVersion);
            expect(uidIn(copy)).toBe("u");
          }
          expect(received.object).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("is not parsed before someone looks inside, when it comes as API servers write it", () => {
    const line = Buffer.from(
      '{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"managedFields":[{}],"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"data":{broken}}}',
    );
    const event = receiveEvent(line, 0, line.length, trimmed);
    if (!("received" in event)) throw new Error("no object");
    expect([event.type, event.received.key, event.received.resourceVersion, event.received.uid]).toEqual([
      "modified",
      "n/a",
      "7",
      "u",
    ]);
    expect(() => event.received.object).toThrow("the server sent broken JSON");
  });

  it("keeps its managed fields when told", () => {
    const received = receiveItem(
      item({ metadata: { managedFields: [{ manager: "m" }], name: "a", resourceVersion: "1" } }),
      whole,
    );
    expect(received.decoder?.(copyOf(received)).metadata?.managedFields).toEqual([{ manager: "m" }]);
  });

  it("is cut to its metadata at once when a server sends more than was asked for", () => {
    const decoding = new Decoding({ kind: ConfigMap, metadataOnly: true });
    const metadata = { name: "a", resourceVersion: "1" };
    expect(receiveItem(item({ metadata, data: {} }), decoding).decoder).toBeUndefined();
    const only = receiveItem(item({ kind: "PartialObjectMetadata", metadata }), decoding);
    expect(only.decoder?.(copyOf(only))).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata });
  });

  it.each([
    ["an unknown type", '{"type":"OTHER","object":{}}'],
    ["no object", '{"type":"ADDED","object":null}'],
    ["half an object", '{"type":"ADDED","object":{"metadata":{"name":"a"}'],
    ["no JSON", "DELETED"],
  ])("is refused when the line has %s", (_what, line) => {
    expect(() => receiveEvent(Buffer.from(line), 0, line.length, trimmed)).toThrow("the server sent");
  });
});
