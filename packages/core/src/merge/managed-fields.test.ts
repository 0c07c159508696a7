import { describe, expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../object.ts";
import { FieldSet } from "./field-set.ts";
import {
  capUpdaters,
  decodeManagedFields,
  displayManager,
  encodeManagedFields,
  isReset,
  managerId,
  type Owners,
} from "./managed-fields.ts";

const entry = (over: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: "m",
  operation: "Update",
  apiVersion: "v1",
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:a": {} },
  ...over,
});

describe("entries", () => {
  test("reading and writing again gives the same entries", () => {
    const entries = [entry({ operation: "Apply" }), entry({ manager: "n", subresource: "status" })];
    expect(encodeManagedFields(decodeManagedFields(entries))).toEqual(entries);
  });

  test("appliers stand first, then the oldest, then by manager, version and subresource", () => {
    const sorted = [
      entry({ manager: "z", operation: "Apply", time: "2026-01-01T00:00:00Z" }),
      entry({ manager: "a", operation: "Apply", time: "2026-01-02T00:00:00Z" }),
      (({ time: _none, ...rest }) => rest)(entry({ manager: "z" })),
      entry({ manager: "a", apiVersion: "v1" }),
      entry({ manager: "a", apiVersion: "v1", subresource: "status" }),
      entry({ manager: "a", apiVersion: "v2" }),
      entry({ manager: "b" }),
      entry({ manager: "A", time: "2026-01-01T00:00:01Z" }),
    ];
    expect(encodeManagedFields(decodeManagedFields([...sorted].reverse()))).toEqual(sorted);
  });

  test("an applier is one whatever its version, an updater one per version", () => {
    const identity = { manager: "m", subresource: "", apiVersion: "v1" };
    expect(managerId({ ...identity, operation: "Apply" })).toBe('{"manager":"m","operation":"Apply"}');
    expect(managerId({ ...identity, operation: "Update", subresource: "scale" })).toBe(
      '{"manager":"m","operation":"Update","apiVersion":"v1","subresource":"scale"}',
    );
    expect(
      decodeManagedFields([entry({ operation: "Apply" }), entry({ operation: "Apply", apiVersion: "v2" })])
        .size,
    ).toBe(1);
    expect(decodeManagedFields([entry(), entry({ apiVersion: "v2" })]).size).toBe(2);
  });

  test("a manager is shown with its subresource, and its version when it updates", () => {
    const identity = { manager: 'a"b', subresource: "status", apiVersion: "v1" };
    expect(displayManager({ ...identity, operation: "Update" })).toBe(
      '"a\\"b" with subresource "status" using v1',
    );
    expect(displayManager({ ...identity, operation: "Apply", subresource: "" })).toBe('"a\\"b"');
  });

  test.each<[Partial<ManagedFieldsEntry>, string]>([
    [{ operation: "Guess" as "Apply" }, "operation must be `Apply` or `Update`"],
    [{ apiVersion: "" }, "apiVersion must not be empty"],
    [{ fieldsType: "" }, "missing fieldsType in managed fields entry 0"],
    [{ fieldsType: "FieldsV2" }, 'invalid fieldsType "FieldsV2" in managed fields entry 0'],
  ])("an entry with %j cannot be read", (over, message) => {
    expect(() => decodeManagedFields([entry(over)])).toThrow(
      expect.objectContaining({ code: "BadManagedFields", message }),
    );
  });

  test("only an empty list and a list of one empty entry ask to forget", () => {
    expect([[], [{}], [{ manager: "" }]].map(isReset)).toEqual([true, true, true]);
    expect([undefined, null, [entry()], [{}, {}]].map(isReset)).toEqual([false, false, false, false]);
  });
});

describe("the cap on updaters", () => {
  const owners = (...list: [manager: string, version: string, second: number][]): Owners =>
    new Map(
      list.map(([manager, apiVersion, second]) => {
        const ownership = {
          manager,
          operation: "Update" as const,
          subresource: "",
          apiVersion,
          fields: FieldSet.of([`f:${manager}`]),
          time: `2026-01-01T00:00:0${second}Z`,
        };
        return [managerId(ownership), ownership];
      }),
    );

  test("versions are folded apart, and an only one of its version stays", () => {
    const all = owners(["a", "v1", 1], ["b", "v2", 2], ["c", "v1", 3], ["d", "v1", 4], ["e", "v2", 5]);
    capUpdaters(all, 3);
    expect(
      encodeManagedFields(all).map(({ manager, apiVersion, time, fieldsV1 }) => [
        manager,
        apiVersion,
        time,
        Object.keys(fieldsV1 ?? {}),
      ]),
    ).toEqual([
      ["b", "v2", "2026-01-01T00:00:02Z", ["f:b"]],
      ["ancient-changes", "v1", "2026-01-01T00:00:04Z", ["f:a", "f:c", "f:d"]],
      ["e", "v2", "2026-01-01T00:00:05Z", ["f:e"]],
    ]);
  });

  test("ancient changes of before take in more", () => {
    const all = owners(["ancient-changes", "v1", 0], ["b", "v1", 1], ["c", "v1", 2]);
    capUpdaters(all, 2);
    expect(
      encodeManagedFields(all).map(({ manager, fieldsV1 }) => [manager, Object.keys(fieldsV1 ?? {})]),
    ).toEqual([
      ["ancient-changes", ["f:ancient-changes", "f:b"]],
      ["c", ["f:c"]],
    ]);
  });

  test("nothing happens below the cap", () => {
    const all = owners(["a", "v1", 1], ["b", "v1", 2]);
    capUpdaters(all, 2);
    expect(all.size).toBe(2);
  });
});
