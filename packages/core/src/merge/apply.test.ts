import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepEqual, deepFreeze, parseJson } from "../json.ts";
import type { JsonObject, JsonValue, ManagedFieldsEntry } from "../object.ts";
import {
  type ApplyResult,
  applyPatch,
  applyUpdate,
  applyUpdateOrClear,
  keepTimesIfUnchanged,
} from "./apply.ts";
import { FieldSet } from "./field-set.ts";
import type { ManagedResource } from "./managed-resource.ts";
import { typeFromStructuralSchema } from "./openapi-schema.ts";
import type { TypeRef } from "./schema.ts";

const item = {
  type: "object",
  properties: {
    key: { type: "string" },
    port: { type: "integer", default: 80 },
    value: { type: "string" },
    extra: { type: "string" },
  },
};
const schemaWith = (over: Record<string, unknown> = {}) => ({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        byKey: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["key", "port"],
          items: item,
        },
        set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        atomic: { type: "array", items: { type: "string" } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        solid: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          properties: { a: { type: "string" }, b: { type: "string" } },
        },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        child: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
        ...over,
      },
    },
    status: { type: "object", properties: { ready: { type: "integer" } } },
  },
});
const type = typeFromStructuralSchema(schemaWith());
const resource: ManagedResource = { apiVersion: "example.com/v1", kind: "Widget", type };

/** A server of one object: applies and updates at increasing times. */
class Store {
  live: JsonObject | undefined;
  #time = 0;
  readonly #resource: ManagedResource;

  constructor(over: Partial<ManagedResource> = {}) {
    this.#resource = { ...resource, ...over };
  }

  get #now(): string {
    return `2026-01-01T00:00:${String(this.#time++).padStart(2, "0")}Z`;
  }

  #object(spec: JsonValue | undefined, metadata: JsonObject = {}, version = "v1"): JsonObject {
    const object: JsonObject = {
      apiVersion: `example.com/${version}`,
      kind: "Widget",
      metadata: { name: "w", ...metadata },
    };
    if (spec !== undefined) object.spec = spec;
    return object;
  }

  apply(
    manager: string,
    spec: JsonValue | undefined,
    options: { force?: boolean; metadata?: JsonObject; over?: Partial<ManagedResource> } = {},
  ): ApplyResult {
    const target = { ...this.#resource, ...options.over };
    const result = applyPatch({
      resource: target,
      ...(this.live ? { live: this.live } : {}),
      config: this.#object(spec, options.metadata, target.apiVersion.split("/")[1]),
      manager,
      force: options.force ?? false,
      now: this.#now,
    });
    if (result.conflicts === undefined) this.#store(result.object);
    return result;
  }

  update(
    manager: string,
    change: (spec: JsonObject, metadata: JsonObject, object: JsonObject) => void,
    over: Partial<ManagedResource> = {},
  ): JsonObject {
    const updated = structuredClone(this.live ?? this.#object({}));
    const spec = (updated.spec ?? {}) as JsonObject;
    updated.spec = spec;
    change(spec, updated.metadata as JsonObject, updated);
    this.#store(
      applyUpdate({
        resource: { ...this.#resource, ...over },
        ...(this.live ? { live: this.live } : {}),
        updated,
        manager,
        now: this.#now,
      }),
    );
    return this.live as JsonObject;
  }

  #store(object: JsonObject): void {
    this.live = deepFreeze({ ...object, metadata: { ...(object.metadata as JsonObject), uid: "u" } });
  }

  get spec(): JsonValue | undefined {
    return this.live?.spec;
  }

  get entries(): ManagedFieldsEntry[] {
    const metadata = this.live?.metadata as { managedFields?: ManagedFieldsEntry[] } | undefined;
    return metadata?.managedFields ?? [];
  }

  /** What a manager owns of the spec. */
  owned(manager: string, operation = "Apply"): JsonValue | undefined {
    const entry = this.entries.find((each) => each.manager === manager && each.operation === operation);
    return entry === undefined ? undefined : (entry.fieldsV1?.["f:spec"] ?? entry.fieldsV1);
  }
}

const causes = (result: ApplyResult) => (result.conflicts === undefined ? [] : result.causes);

describe("applying", () => {
  test("the first apply creates and owns what it says, not the name or the kind", () => {
    const store = new Store();
    store.apply("m1", { size: 1 }, { metadata: { labels: { a: "1" } } });
    expect(store.entries).toEqual([
      {
        manager: "m1",
        operation: "Apply",
        apiVersion: "example.com/v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": { "f:size": {} } },
      },
    ]);
  });

  test("applying the same again changes nothing, not even a time", () => {
    const store = new Store();
    store.apply("m1", { size: 1, byKey: [{ key: "a" }], labels: {} });
    const before = store.live;
    const again = store.apply("m1", { size: 1, byKey: [{ key: "a" }], labels: {} });
    expect(again).toMatchObject({ changed: false });
    expect(store.live).toEqual(before);
  });

  test("what is left out goes away, unless somebody else owns it", () => {
    const store = new Store();
    store.apply("m1", { size: 1, labels: { a: "1", b: "1" } });
    store.apply("m2", { labels: { b: "1" } });
    store.apply("m1", { labels: {} });
    expect(store.spec).toEqual({ labels: { b: "1" } });
    expect(store.owned("m1")).toEqual({ "f:labels": {} });
    expect(store.owned("m2")).toEqual({ "f:labels": { "f:b": {} } });
  });

  test("an equal value is shared without a time, since nothing changed", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    expect(store.apply("m2", { size: 1 })).toMatchObject({ changed: false });
    expect(store.entries.find(({ manager }) => manager === "m2")).not.toHaveProperty("time");
  });

  test("another value is a conflict that names owner and field, and changes nothing", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    const before = store.live;
    expect(store.apply("m2", { size: 2 })).toMatchObject({
      message: 'Apply failed with 1 conflict: conflict with "m1": .spec.size',
      causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m1"', field: ".spec.size" }],
    });
    expect(store.live).toBe(before);
  });

  test("several conflicts are listed by owner", () => {
    const store = new Store();
    store.apply("m1", { size: 1, byKey: [{ key: "a", value: "1" }] });
    store.update("editor", (spec) => {
      spec.labels = { x: "1" };
    });
    const result = store.apply("m2", { size: 2, byKey: [{ key: "a", value: "2" }], labels: { x: "2" } });
    expect(result.conflicts === undefined ? "" : result.message).toBe(
      'Apply failed with 3 conflicts: conflicts with "editor" using example.com/v1:\n- .spec.labels.x\nconflicts with "m1":\n- .spec.size\n- .spec.byKey[key="a",port=80].value',
    );
  });

  test("force takes fields over", () => {
    const store = new Store();
    store.apply("m1", { size: 1, labels: { a: "1" } });
    store.apply("m2", { size: 2 }, { force: true });
    expect(store.owned("m1")).toEqual({ "f:labels": { "f:a": {} } });
    expect(store.owned("m2")).toEqual({ "f:size": {} });
  });

  test("a manager that loses everything loses its entry", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.apply("m2", { size: 2 }, { force: true });
    expect(store.entries.map(({ manager }) => manager)).toEqual(["m2"]);
  });

  test("an apply of nothing gives everything up", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.apply("m1", undefined);
    expect(store.entries).toEqual([]);
    expect(store.live).not.toHaveProperty("spec");
  });

  test("what an update left unowned stays when its former applier leaves it out", () => {
    const store = new Store();
    store.apply("m1", { labels: { a: "1" } });
    store.update("editor", (spec) => {
      (spec.labels as JsonObject).a = "2";
    });
    store.apply("m1", { size: 1 });
    expect(store.spec).toEqual({ size: 1, labels: { a: "2" } });
  });

  test("what nobody owns stays in an item that stays, and goes with a field that goes", () => {
    const store = new Store();
    store.apply("m1", { child: { a: "1" }, byKey: [{ key: "a", value: "1" }] });
    store.live = {
      ...store.live,
      spec: { child: { a: "1", b: "filled in" }, byKey: [{ key: "a", port: 80, value: "1" }] },
    };
    store.apply("m1", { size: 1, byKey: [{ key: "a" }] });
    expect(store.spec).toEqual({ size: 1, byKey: [{ key: "a", port: 80 }] });
  });

  test("null is owned, and is what is sent on", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.apply("m1", { size: null });
    expect(store.spec).toEqual({ size: null });
    expect(store.owned("m1")).toEqual({ "f:size": {} });
  });

  test("emptied content becomes null, for decoding to drop and validation to refuse", () => {
    const store = new Store();
    store.apply("m1", { labels: { a: "1" } });
    store.apply("m1", { labels: {} });
    expect(store.spec).toEqual({ labels: null });
  });

  test("another kind, another version and entries of its own are refused", () => {
    const apply = (config: JsonObject) => () =>
      applyPatch({ resource, config, manager: "m", now: "2026-01-01T00:00:00Z" });
    expect(apply({ apiVersion: "example.com/v2", kind: "Widget" })).toThrow(
      expect.objectContaining({
        code: "BadApply",
        message: "invalid object type: example.com/v2, Kind=Widget",
      }),
    );
    expect(apply({ apiVersion: "v1", kind: "Pod" })).toThrow("invalid object type: /v1, Kind=Pod");
    expect(apply({ apiVersion: "example.com/v1", kind: "Widget", metadata: { managedFields: [] } })).toThrow(
      "metadata.managedFields must be nil",
    );
  });

  test.each<[string, JsonValue, string]>([
    ["a wrong scalar", { size: "big" }, ".spec.size: expected numeric (int or float), got string"],
    [
      "a number for a string",
      { set: [1] },
      ".spec.set[=1]: expected string, got &value.valueUnstructured{Value:1}",
    ],
    ["a list for a map", { labels: ["a"] }, ".spec.labels: expected map, got &{[a]}"],
    ["a map for a list", { set: { a: 1 } }, ".spec.set: expected list, got &{map[a:1]}"],
    ["an unknown field", { junk: 1 }, ".spec.junk: field not declared in schema"],
    [
      "a duplicate key",
      { byKey: [{ key: "a" }, { key: "a", port: 80 }] },
      '.spec.byKey: duplicate entries for key [key="a",port=80]',
    ],
    ["a duplicate value", { set: ["a", "a"] }, '.spec.set: duplicate entries for key [="a"]'],
    [
      "a null item",
      { byKey: [null] },
      ".spec.byKey: element 0: associative list with keys may not have a null element",
    ],
  ])("%s is refused before anything is merged", (_name, spec, message) => {
    expect(() => new Store().apply("m1", spec)).toThrow(
      expect.objectContaining({
        code: "TypeMismatch",
        message: `failed to create typed patch object (/w; example.com/v1, Kind=Widget): ${message}`,
      }),
    );
  });
});

describe("kinds of fields", () => {
  test("keyed lists: items belong to who names them, defaults complete the key", () => {
    const store = new Store();
    store.apply("m1", { byKey: [{ key: "a", value: "1" }] });
    store.apply("m2", { byKey: [{ key: "b" }, { key: "a", port: 80, extra: "e" }] });
    expect(store.owned("m1")).toEqual({
      "f:byKey": { 'k:{"key":"a","port":80}': { ".": {}, "f:key": {}, "f:value": {} } },
    });
    expect(store.spec).toEqual({ byKey: [{ key: "b" }, { key: "a", value: "1", extra: "e", port: 80 }] });
    store.apply("m1", {});
    expect(store.spec).toEqual({ byKey: [{ key: "b" }, { key: "a", extra: "e", port: 80 }] });
  });

  test("items of one key and different second keys are different items", () => {
    const store = new Store();
    store.apply("m1", {
      byKey: [
        { key: "a", port: 1 },
        { key: "a", port: 2 },
      ],
    });
    store.apply("m1", { byKey: [{ key: "a", port: 2 }] });
    expect(store.spec).toEqual({ byKey: [{ key: "a", port: 2 }] });
  });

  test("sets: values belong to who names them", () => {
    const store = new Store();
    store.apply("m1", { set: ["a", "b"] });
    store.apply("m2", { set: ["c", "b"] });
    expect(store.spec).toEqual({ set: ["a", "c", "b"] });
    store.apply("m1", { set: ["b"] });
    expect(store.spec).toEqual({ set: ["c", "b"] });
    expect(store.owned("m2")).toEqual({ "f:set": { 'v:"b"': {}, 'v:"c"': {} } });
  });

  test("a configuration reorders the items it shares with the object", () => {
    const store = new Store();
    store.apply("m1", { set: ["a", "b", "c", "d"] });
    store.apply("m2", { set: ["d", "x", "a"] });
    expect(store.spec).toEqual({ set: ["b", "c", "d", "x", "a"] });
  });

  test("atomic lists and maps belong to one manager whole", () => {
    const store = new Store();
    store.apply("m1", { atomic: ["a"], solid: { a: "1" } });
    expect(causes(store.apply("m2", { atomic: ["a", "b"] })).map(({ field }) => field)).toEqual([
      ".spec.atomic",
    ]);
    store.apply("m2", { solid: { b: "2" } }, { force: true });
    expect(store.spec).toEqual({ atomic: ["a"], solid: { b: "2" } });
    expect(store.owned("m1")).toEqual({ "f:atomic": {} });
  });

  test("preserved unknown content: maps by key, lists whole", () => {
    const store = new Store();
    store.apply("m1", { open: { a: { b: 1 }, l: [{ x: 1 }] } });
    store.apply("m2", { open: { a: { c: 2 } } });
    expect(store.owned("m1")).toEqual({ "f:open": { "f:a": { ".": {}, "f:b": {} }, "f:l": {} } });
    expect(causes(store.apply("m2", { open: { l: [] } })).map(({ field }) => field)).toEqual([
      ".spec.open.l",
    ]);
  });

  test("a value that changes its form is replaced", () => {
    const store = new Store();
    store.apply("m1", { open: { a: "text" } });
    store.apply("m1", { open: { a: { b: 1 } } });
    expect(store.spec).toEqual({ open: { a: { b: 1 } } });
    expect(store.owned("m1")).toEqual({ "f:open": { "f:a": { ".": {}, "f:b": {} } } });
  });

  test("duplicates that got in by an update are kept, owned as one, and can be applied away", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.update("editor", (spec) => {
      spec.set = ["a", "b", "a"];
    });
    expect(store.owned("editor", "Update")).toEqual({ "f:set": { ".": {}, 'v:"a"': {}, 'v:"b"': {} } });
    store.apply("m2", { set: ["c"] });
    expect(store.spec).toEqual({ size: 1, set: ["a", "b", "a", "c"] });
    store.apply("m2", { set: ["a"] }, { force: true });
    expect((store.spec as { set: string[] }).set).toEqual(["a", "b"]);
  });
});

describe("updates", () => {
  test("a create is owned whole by its writer", () => {
    const store = new Store();
    store.update("creator", (spec) => {
      spec.byKey = [{ key: "a", port: 80 }];
      spec.child = {};
    });
    expect(store.owned("creator", "Update")).toEqual({
      ".": {},
      "f:byKey": { ".": {}, 'k:{"key":"a","port":80}': { ".": {}, "f:key": {}, "f:port": {} } },
      "f:child": {},
    });
  });

  test("what exists before the first write is not claimed by it", () => {
    const store = new Store({ zero: { metadata: {}, spec: { child: {} } } });
    store.update("creator", (spec) => {
      spec.child = { a: "1" };
    });
    expect(store.owned("creator", "Update")).toEqual({ "f:child": { "f:a": {} } });
  });

  test("a writer owns what it changed; others lose that and what was removed", () => {
    const store = new Store();
    store.apply("m1", { size: 1, labels: { a: "1", b: "1" } });
    store.update("editor", (spec) => {
      spec.size = 2;
      delete (spec.labels as JsonObject).a;
    });
    expect(store.owned("m1")).toEqual({ "f:labels": { "f:b": {} } });
    expect(store.owned("editor", "Update")).toEqual({ "f:size": {} });
  });

  test("a writer's later changes join its entry, which gets a new time", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.update("editor", (spec) => {
      spec.labels = { a: "1" };
    });
    store.update("editor", (spec) => {
      spec.solid = { a: "1" };
    });
    expect(store.owned("editor", "Update")).toEqual({ "f:labels": { ".": {}, "f:a": {} }, "f:solid": {} });
    expect(store.entries.map(({ time }) => time)).toEqual(["2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z"]);
  });

  test("an update that changes nothing leaves everything as it is", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    const before = store.live;
    store.update("editor", () => {});
    expect(store.live).toEqual(before);
  });

  test("a writer without a name is unknown", () => {
    const store = new Store();
    store.update("", (spec) => {
      spec.size = 1;
    });
    expect(store.entries[0]?.manager).toBe("unknown");
  });

  test.each<[string, JsonValue]>([
    ["[{}]", [{}]],
    ["[]", []],
  ])("entries set to %s are forgotten until the next apply", (_name, value) => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    store.update("editor", (_spec, metadata) => {
      metadata.managedFields = value;
    });
    expect(store.entries).toEqual([]);
    store.update("editor", (spec) => {
      spec.labels = { a: "1" };
    });
    expect(store.entries).toEqual([]);
    expect(causes(store.apply("m2", { size: 2 }))).toEqual([
      {
        reason: "FieldManagerConflict",
        message: 'conflict with "before-first-apply" using example.com/v1',
        field: ".spec.size",
      },
    ]);
    store.apply("m2", { size: 1 });
    expect(store.owned("before-first-apply", "Update")).toEqual({
      ".": {},
      "f:labels": { ".": {}, "f:a": {} },
      "f:size": {},
    });
  });

  test("entries a writer sends are taken, unless they are broken or it writes a subresource", () => {
    const entry: ManagedFieldsEntry = {
      manager: "x",
      operation: "Apply",
      apiVersion: "example.com/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:size": {} } },
    };
    const send = (value: unknown, over: Partial<ManagedResource> = {}) => {
      const store = new Store();
      store.apply("m1", { size: 1 });
      store.update(
        "editor",
        (_spec, metadata) => {
          metadata.managedFields = value as JsonValue;
        },
        over,
      );
      return store.entries.map(({ manager }) => manager);
    };
    expect(send([entry])).toEqual(["x"]);
    expect(send([{ ...entry, operation: "Guess" }])).toEqual(["m1"]);
    expect(send(undefined)).toEqual(["m1"]);
    expect(send([entry], { subresource: "status" })).toEqual(["m1"]);
  });

  test("an object that does not fit its type is stored without entries", () => {
    const request = {
      resource,
      updated: { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" }, spec: { size: "x" } },
      manager: "m",
      now: "2026-01-01T00:00:00Z",
    };
    expect(() => applyUpdate(request)).toThrow(expect.objectContaining({ code: "TypeMismatch" }));
    expect(applyUpdateOrClear(request)).toEqual(request.updated);
  });

  test("more than ten updaters are folded by version into ancient changes, the oldest first", () => {
    const store = new Store();
    store.apply("m1", { size: 0 });
    for (let i = 0; i < 13; i++) {
      store.update(`u${i}`, (spec) => {
        spec.labels = { ...(spec.labels as JsonObject), [`l${i}`]: "1" };
      });
    }
    const updaters = store.entries.filter(({ operation }) => operation === "Update");
    expect(updaters.map(({ manager }) => manager)).toEqual([
      "ancient-changes",
      "u4",
      "u5",
      "u6",
      "u7",
      "u8",
      "u9",
      "u10",
      "u11",
      "u12",
    ]);
    expect(updaters[0]).toMatchObject({ time: "2026-01-01T00:00:04Z" });
    expect(store.owned("ancient-changes", "Update")).toEqual({
      "f:labels": { ".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}, "f:l3": {} },
    });
  });

  test("times go back when nothing but times would differ", () => {
    const store = new Store();
    store.apply("m1", { size: 1 });
    const live = store.live as JsonObject;
    const touched = structuredClone(live) as unknown as { metadata: { managedFields: ManagedFieldsEntry[] } };
    (touched.metadata.managedFields[0] as ManagedFieldsEntry).time = "2027-01-01T00:00:00Z";
    expect(keepTimesIfUnchanged(live, touched as unknown as JsonObject)).toEqual(live);
    const changed = { ...touched, spec: { size: 2 } } as unknown as JsonObject;
    expect(keepTimesIfUnchanged(live, changed)).toBe(changed);
  });
});

describe("subresources", () => {
  const main = { resetFields: new Map([["example.com/v1", FieldSet.of(["f:status"])]]) };
  const status = {
    subresource: "status",
    resetFields: new Map([["example.com/v1", FieldSet.of(["f:spec"])]]),
  };

  test("entries are kept apart, and what the path resets is not owned through it", () => {
    const store = new Store(main);
    store.apply("m1", { size: 1 });
    store.update(
      "m1",
      (spec, _metadata, object) => {
        spec.size = 9;
        object.status = { ready: 1 };
      },
      status,
    );
    expect(
      store.entries.map(({ manager, subresource, fieldsV1 }) => [manager, subresource, fieldsV1]),
    ).toEqual([
      ["m1", undefined, { "f:spec": { "f:size": {} } }],
      ["m1", "status", { "f:status": { ".": {}, "f:ready": {} } }],
    ]);
  });

  test("an applied status is not owned on the main path", () => {
    const result = applyPatch({
      resource: { ...resource, ...main },
      config: {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { name: "w" },
        spec: { size: 1 },
        status: { ready: 1 },
      },
      manager: "m1",
      now: "2026-01-01T00:00:00Z",
    });
    expect(result.conflicts === undefined && result.object.metadata).toMatchObject({
      managedFields: [{ fieldsV1: { "f:spec": { "f:size": {} } } }],
    });
  });

  test("a conflict names the subresource", () => {
    const store = new Store(main);
    store.apply("m1", { labels: { a: "1" } });
    store.update(
      "ctl",
      (_spec, metadata) => {
        metadata.labels = { x: "1" };
      },
      { subresource: "status" },
    );
    expect(causes(store.apply("m2", undefined, { metadata: { labels: { x: "2" } } }))).toEqual([
      {
        reason: "FieldManagerConflict",
        message: 'conflict with "ctl" with subresource "status" using example.com/v1',
        field: ".metadata.labels.x",
      },
    ]);
  });
});

describe("several versions", () => {
  const { size, ...others } = schemaWith().properties.spec.properties;
  const renamed = schemaWith();
  renamed.properties.spec.properties = {
    ...others,
    replicas: size,
  } as unknown as typeof renamed.properties.spec.properties;
  const types: Record<string, TypeRef> = { v1: type, v2: typeFromStructuralSchema(renamed) };

  /** v2 calls the size replicas; v3 is no longer served. */
  const convert = (object: JsonObject, apiVersion: string) => {
    const version = apiVersion.split("/")[1] as string;
    const to = types[version];
    if (to === undefined) return undefined;
    const spec = { ...(object.spec as JsonObject) };
    for (const [from, into] of [
      ["size", "replicas"],
      ["replicas", "size"],
    ] as const) {
      if ((version === "v2") === (into === "replicas") && from in spec) {
        spec[into] = spec[from] as JsonValue;
        delete spec[from];
      }
    }
    return { object: { ...object, apiVersion, spec }, type: to };
  };
  const at = (version: string): Partial<ManagedResource> => ({
    apiVersion: `example.com/${version}`,
    type: types[version] as TypeRef,
    convert,
  });

  test("ownership in another version counts, and is kept in its own names", () => {
    const store = new Store(at("v1"));
    store.apply("m1", { size: 1 });
    store.live = convert(store.live as JsonObject, "example.com/v2")?.object;
    expect(causes(store.apply("m2", { replicas: 2 }, { over: at("v2") })).map(({ field }) => field)).toEqual([
      ".spec.size",
    ]);
    store.apply("m2", { replicas: 2 }, { over: at("v2"), force: true });
    expect(store.entries.map(({ manager, apiVersion }) => [manager, apiVersion])).toEqual([
      ["m2", "example.com/v2"],
    ]);
  });

  test("a manager that changes its version keeps one entry and loses what it left out in the old one", () => {
    const store = new Store(at("v1"));
    store.apply("m1", { size: 1, labels: { a: "1" } });
    store.live = convert(store.live as JsonObject, "example.com/v2")?.object;
    store.apply("m1", { labels: { a: "1" } }, { over: at("v2") });
    expect(store.spec).toEqual({ labels: { a: "1" } });
    expect(store.entries).toMatchObject([
      { apiVersion: "example.com/v2", fieldsV1: { "f:spec": { "f:labels": { "f:a": {} } } } },
    ]);
  });

  test("what was owned in a version that is gone is forgotten", () => {
    const store = new Store(at("v1"));
    store.apply("m1", { size: 1 });
    const old = { ...store.entries[0], apiVersion: "example.com/v3" } as unknown as JsonObject;
    store.live = { ...store.live, metadata: { name: "w", uid: "u", managedFields: [old] } };
    store.apply("m2", { size: 2 });
    expect(store.entries.map(({ manager }) => manager)).toEqual(["m2"]);
  });
});

describe("a schema that changed", () => {
  test("what became atomic is owned whole by those who owned a part", () => {
    const store = new Store();
    store.apply("m1", { child: { a: "1" }, set: ["x"] });
    const atomic = typeFromStructuralSchema(
      schemaWith({
        child: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          properties: { a: { type: "string" }, b: { type: "string" } },
        },
        set: { type: "array", "x-kubernetes-list-type": "atomic", items: { type: "string" } },
      }),
    );
    store.apply("m2", { size: 1 }, { over: { type: atomic } });
    expect(store.owned("m1")).toEqual({ "f:child": {}, "f:set": {} });
    expect(
      causes(store.apply("m2", { child: { b: "2" } }, { over: { type: atomic } })).map(({ field }) => field),
    ).toEqual([".spec.child"]);
  });

  test("what became granular stays owned at its root", () => {
    const store = new Store();
    store.apply("m1", { solid: { a: "1" } });
    const granular = typeFromStructuralSchema(
      schemaWith({ solid: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } } }),
    );
    expect(store.apply("m2", { solid: { b: "2" } }, { over: { type: granular } }).conflicts).toBeUndefined();
    expect(store.owned("m1")).toEqual({ "f:solid": {} });
    expect(store.spec).toEqual({ solid: { a: "1", b: "2" } });
  });
});

describe("kubectl's way over from client-side apply", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const applied = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w" },
    spec: { size: 1, labels: { a: "1" } },
  };
  const clientSide = () => {
    const store = new Store();
    store.update("kubectl-client-side-apply", (spec, metadata) => {
      Object.assign(spec, { size: 1, labels: { a: "1", b: "1" } });
      metadata.annotations = { [annotation]: JSON.stringify(applied) };
    });
    return store;
  };

  test("fields of the last applied configuration may be taken over by kubectl alone", () => {
    expect(causes(clientSide().apply("other", { size: 2 })).map(({ field }) => field)).toEqual([
      ".spec.size",
    ]);
    const store = clientSide();
    expect(store.apply("kubectl", { size: 2, labels: { a: "2" } }).conflicts).toBeUndefined();
    expect(store.spec).toEqual({ size: 2, labels: { a: "2", b: "1" } });
  });

  test("other fields still conflict, and only they are named", () => {
    expect(
      causes(clientSide().apply("kubectl", { size: 2, labels: { b: "2" } })).map(({ field }) => field),
    ).toEqual([".spec.labels.b"]);
  });

  test("the annotation is kept in step", () => {
    const store = clientSide();
    store.apply("kubectl", { size: 2 });
    const metadata = store.live?.metadata as { annotations: Record<string, string> } | undefined;
    expect(metadata?.annotations[annotation]).toBe(
      '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":2}}\n',
    );
  });

  test("an annotation that cannot be read, or is of another version, allows nothing", () => {
    for (const text of ["{", JSON.stringify({ ...applied, apiVersion: "example.com/v2" })]) {
      const store = clientSide();
      store.update("kubectl-client-side-apply", (_spec, metadata) => {
        metadata.annotations = { [annotation]: text };
      });
      expect(causes(store.apply("kubectl", { size: 2 })).map(({ field }) => field)).toEqual([".spec.size"]);
    }
  });
});

describe("laws", () => {
  const word = fc.constantFrom("a", "b", "c");
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const spec = fc
    .record({
      size: optional(fc.nat(2)),
      byKey: optional(
        fc.uniqueArray(fc.record({ key: word, port: fc.constantFrom(80, 81), value: optional(word) }), {
          selector: ({ key, port }) => `${key}${port}`,
          maxLength: 3,
        }),
      ),
      set: optional(fc.uniqueArray(word)),
      atomic: optional(fc.array(word, { maxLength: 2 })),
      labels: optional(fc.dictionary(word, word, { noNullPrototype: true })),
      solid: optional(fc.record({ a: optional(word) })),
      open: optional(
        fc.dictionary(word, fc.oneof(word, fc.dictionary(word, fc.nat(2), { noNullPrototype: true })), {
          noNullPrototype: true,
        }),
      ),
    })
    .map((value) => parseJson(JSON.stringify(value)) as JsonObject);
  const step = fc.record({
    manager: fc.constantFrom("m1", "m2", "m3"),
    spec,
    force: fc.boolean(),
    kind: fc.constantFrom("apply", "apply", "update"),
  });
  const play = (steps: { manager: string; spec: JsonObject; force: boolean; kind: string }[]) => {
    const store = new Store();
    for (const { manager, spec: wanted, force, kind } of steps) {
      if (kind === "apply") store.apply(manager, wanted, { force });
      else {
        store.update(manager, (_spec, _metadata, object) => {
          object.spec = wanted;
        });
      }
    }
    return store;
  };

  test("the same apply twice changes nothing the second time", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), spec, (steps, wanted) => {
        const store = play(steps);
        store.apply("m1", wanted, { force: true });
        // What is emptied turns null once, and stays so.
        store.apply("m1", wanted, { force: true });
        const before = store.live;
        store.apply("m1", wanted, { force: true });
        expect(deepEqual(store.live, before)).toBe(true);
      }),
    );
  });

  test("an apply gives exactly what it says: every leaf of the configuration is in the object", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), spec, (steps, wanted) => {
        const store = play(steps);
        store.apply("m1", wanted, { force: true });
        const result = store.spec as JsonObject;
        for (const key of ["size", "atomic", "solid"])
          if (key in wanted) expect(result[key]).toEqual(wanted[key]);
        for (const [key, value] of Object.entries((wanted.labels ?? {}) as JsonObject)) {
          expect((result.labels as JsonObject)[key]).toBe(value);
        }
      }),
    );
  });

  test("applies without force never leave two owners of different wishes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ manager: fc.constantFrom("m1", "m2", "m3"), spec }), { maxLength: 6 }),
        (steps) => {
          const store = new Store();
          const wishes = new Map<string, JsonObject>();
          for (const { manager, spec: wanted } of steps) {
            if (store.apply(manager, wanted).conflicts === undefined) wishes.set(manager, wanted);
          }
          // An apply that was accepted may be repeated without a conflict.
          for (const [manager, wanted] of wishes)
            expect(store.apply(manager, wanted).conflicts).toBeUndefined();
        },
      ),
    );
  });

  test("nothing is owned that the object does not have", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        const store = play(steps);
        for (const { fieldsV1, operation } of store.entries) {
          if (operation !== "Update") continue;
          for (const name of Object.keys((fieldsV1?.["f:spec"] ?? {}) as JsonObject)) {
            if (name !== ".") expect(store.spec).toHaveProperty(name.slice(2));
          }
        }
      }),
    );
  });
});
