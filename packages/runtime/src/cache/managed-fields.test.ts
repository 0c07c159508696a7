import type { JsonObject, Stored } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { appliedBy, extract, intentOf } from "./managed-fields.ts";

describe("an object seen through a field set", () => {
  test("shows owned fields and leaves others out", () => {
    const value = { spec: { replicas: 3, paused: true }, status: { ready: 1 } };
    expect(extract(value, { "f:spec": { "f:replicas": {} } })).toEqual({ spec: { replicas: 3 } });
  });

  test("finds list items by key, value and position, in the order of the object", () => {
    const value: JsonObject = {
      containers: [
        { name: "sidecar", image: "proxy" },
        { name: "app", image: "app:1", env: [{ name: "A", value: "1" }] },
      ],
      finalizers: ["theirs", "ours"],
      rows: [["a"], ["b"]],
    };
    expect(
      extract(value, {
        "f:containers": { 'k:{"name":"app"}': { ".": {}, "f:name": {}, "f:image": {} } },
        "f:finalizers": { 'v:"ours"': {} },
        "f:rows": { "i:1": {} },
      }),
    ).toEqual({ containers: [{ name: "app", image: "app:1" }], finalizers: ["ours"], rows: [["b"]] });
  });

  test("takes a leaf as a whole, and an owned but empty map or list as empty", () => {
    const value = { atomic: [{ a: 1, b: 2 }], map: { theirs: "1" }, list: ["theirs"] };
    expect(extract(value, { "f:atomic": {}, "f:map": { ".": {} }, "f:list": { ".": {} } })).toEqual({
      atomic: [{ a: 1, b: 2 }],
      map: {},
      list: [],
    });
  });

  test("matches a key whose default the item leaves out", () => {
    const value: JsonObject = { ports: [{ port: 80 }, { port: 81, protocol: "UDP" }] };
    const fields = { "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } } };
    expect(extract(value, fields)).toEqual({ ports: [{ port: 80 }] });
  });
});

describe("what a manager applied", () => {
  const object = {
    metadata: {
      managedFields: [
        { manager: "other", operation: "Apply", fieldsV1: { "f:spec": { "f:a": {} } } },
        { manager: "ours", operation: "Update", fieldsV1: { "f:spec": { "f:b": {} } } },
        { manager: "ours", operation: "Apply", fieldsV1: { "f:spec": { "f:c": {} } } },
        {
          manager: "ours",
          operation: "Apply",
          subresource: "status",
          fieldsV1: { "f:status": { "f:d": {} } },
        },
      ],
    },
    spec: { a: 1, b: 2, c: 3 },
    status: { d: 4, e: 5 },
  } as unknown as Stored;

  test("is told apart by manager, operation and subresource", () => {
    expect(appliedBy(object, "ours")).toEqual({ spec: { c: 3 } });
    expect(appliedBy(object, "ours", "status")).toEqual({ status: { d: 4 } });
    expect(appliedBy(object, "nobody")).toBeUndefined();
  });
});

describe("an intent", () => {
  test("does not depend on the order of keys, on identity, or on what is undefined", () => {
    const one: JsonObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace: "b", uid: "u", labels: { x: "1", y: "2" } },
      data: { k: "v" },
    };
    const two = {
      data: { k: "v", gone: undefined },
      metadata: { labels: { y: "2", x: "1" } },
    } as unknown as JsonObject;
    expect(intentOf(one)).toBe(intentOf(two));
    expect(intentOf(one)).not.toBe(intentOf({ ...one, data: { k: "w" } }));
  });
});
