import { describe, expect, test } from "vitest";
import type { JsonObject, ManagedFieldsEntry } from "../object.ts";
import { FieldSet } from "./field-set.ts";
import { ownedFields, selectFields } from "./select-fields.ts";

const object: JsonObject = {
  metadata: { name: "d", labels: { app: "d", other: "x" } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "d" } },
    containers: [
      { name: "main", image: "a", ports: [{ containerPort: 80, protocol: "TCP" }] },
      { name: "side", image: "b" },
    ],
    finalizers: ["a", "b"],
    empty: {},
  },
};

describe("an object seen through fields", () => {
  test("leaves stand whole, containers only as far as they lead somewhere", () => {
    const fields = FieldSet.fromJson({
      "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
      "f:spec": { "f:selector": {}, "f:empty": {}, "f:missing": {} },
    });
    expect(selectFields(object, fields)).toEqual({
      metadata: { labels: { app: "d" } },
      spec: { selector: { matchLabels: { app: "d" } }, empty: {} },
    });
  });

  test("items are found by key and by value", () => {
    const fields = FieldSet.fromJson({
      "f:spec": {
        "f:containers": {
          'k:{"name":"main"}': {
            ".": {},
            "f:name": {},
            "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
          },
          'k:{"name":"gone"}': { ".": {}, "f:name": {} },
        },
        "f:finalizers": { 'v:"b"': {}, 'v:"c"': {} },
      },
    });
    expect(selectFields(object, fields)).toEqual({
      spec: { containers: [{ name: "main", ports: [{ containerPort: 80 }] }], finalizers: ["b"] },
    });
  });

  test("a container that is owned itself stays when nothing in it is left", () => {
    const fields = FieldSet.fromJson({
      "f:metadata": { "f:labels": { ".": {}, "f:gone": {} }, "f:annotations": { "f:gone": {} } },
    });
    expect(selectFields({ metadata: { labels: { a: "1" }, annotations: { a: "1" } } }, fields)).toEqual({
      metadata: { labels: {} },
    });
  });

  test("nothing is left of what is not there", () => {
    expect(selectFields(object, FieldSet.of(["f:status", "f:ready"]))).toBeUndefined();
    expect(selectFields(object, FieldSet.empty)).toBeUndefined();
  });

  test("what a manager owns is asked for by operation and subresource", () => {
    const entries: ManagedFieldsEntry[] = [
      { manager: "m", operation: "Apply", fieldsV1: { "f:a": {} } },
      { manager: "m", operation: "Update", fieldsV1: { "f:b": {} } },
      { manager: "m", operation: "Apply", subresource: "status", fieldsV1: { "f:c": {} } },
    ];
    expect(ownedFields(entries, { manager: "m" }).toJson()).toEqual({ "f:a": {} });
    expect(ownedFields(entries, { manager: "m", operation: "Update" }).toJson()).toEqual({ "f:b": {} });
    expect(ownedFields(entries, { manager: "m", subresource: "status" }).toJson()).toEqual({ "f:c": {} });
    expect(ownedFields(undefined, { manager: "m" }).isEmpty).toBe(true);
  });
});
