/** Server-side apply with as few requests as that takes. */
import { ApiError } from "@keelson/client";
import type { JsonObject, Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import type { Informer } from "../cache/informer.ts";
import { AppliedObjects, AppliedRecords, type Origin } from "./applied-objects.ts";

const body = (data: JsonObject = { a: "1" }): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", namespace: "default", labels: { app: "x" } },
  data,
});
const stored = (data: JsonObject = { a: "1" }, metadata: object = {}): Stored =>
  ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "c",
      namespace: "default",
      uid: "1",
      resourceVersion: "5",
      labels: { app: "x" },
      ...metadata,
    },
    data,
  }) as never;
const owns = (...data: string[]) =>
  JSON.stringify({
    "f:metadata": { "f:labels": { "f:app": {} } },
    "f:data": Object.fromEntries(data.map((key) => [`f:${key}`, {}])),
  });

class World {
  readonly sent: { body: JsonObject; options: Record<string, unknown> }[] = [];
  readonly records = new AppliedRecords();
  /** What the cache says that we own. */
  fields: string | undefined;
  answer: (body: JsonObject) => Stored = () => stored();
  readonly informer = {
    kind: ConfigMap,
    cache: { ownedFields: () => this.fields },
  } as unknown as Informer;
  readonly applied = new AppliedObjects({
    client: {
      kind: () => ({
        apply: async (sent: JsonObject, options: Record<string, unknown>) => {
          this.sent.push({ body: sent, options });
          return this.answer(sent);
        },
      }),
    } as never,
    records: this.records,
    fieldManager: "me",
  });
  readonly signal = new AbortController().signal;

  has = (desired: JsonObject, seen: Stored) => this.applied.has(this.informer, desired, seen);
  send = (desired: JsonObject, remembers?: boolean) =>
    this.applied.send(this.informer, desired, {
      ...{ force: true, signal: this.signal },
      ...(remembers === undefined ? {} : { remembers }),
    });
  wouldChange = (desired: JsonObject, seen: Stored) =>
    this.applied.wouldChange(this.informer, desired, seen, { signal: this.signal });
}

describe("an apply would change nothing", () => {
  test("where all that is ours is what is asked for", () => {
    const world = new World();
    world.fields = owns("a");
    expect(world.has(body(), stored())).toBe(true);
    expect(world.has(body(), stored({ a: "1", theirs: "2" }))).toBe(true);
  });

  test("and would, where a field is another's, has another value, or is ours and not asked for", () => {
    const world = new World();
    world.fields = owns("b");
    expect(world.has(body(), stored())).toBe(false);
    world.fields = owns("a");
    expect(world.has(body(), stored({ a: "2" }))).toBe(false);
    world.fields = owns("a", "b");
    expect(world.has(body(), stored({ a: "1", b: "2" }))).toBe(false);
    world.fields = undefined;
    expect(world.has(body(), stored())).toBe(false);
  });

  test("where the server made this of the same body last time, in its own spelling", async () => {
    const world = new World();
    world.fields = owns("a");
    world.answer = () => stored({ a: "1.0" });
    const served = await world.send(body());
    expect(world.has(body(), served)).toBe(true);
    expect(world.has(body(), stored({ a: "1.0" }, { resourceVersion: "6" }))).toBe(true);
    expect(world.has(body(), stored({ a: "2" }, { resourceVersion: "7" }))).toBe(false);
    expect(world.has(body({ a: "1", b: "2" }), served)).toBe(false);
    expect(world.has(body(), stored({ a: "1.0" }, { uid: "2", resourceVersion: "8" }))).toBe(false);
  });

  test("at the version at which it was compared, without another look", () => {
    const world = new World();
    world.fields = owns("a");
    expect(world.has(body(), stored())).toBe(true);
    world.fields = undefined;
    expect(world.has(body(), stored())).toBe(true);
    expect(world.has(body(), stored({ a: "1" }, { resourceVersion: "6" }))).toBe(false);
    expect(world.has(body({ a: "2" }), stored())).toBe(false);
  });
});

describe("an apply", () => {
  test("is sent as it is, and its answer is what there is", async () => {
    const world = new World();
    expect(await world.send(body())).toEqual(stored());
    expect(world.sent).toEqual([
      { body: body(), options: { force: true, signal: world.signal, fieldManager: "me" } },
    ]);
  });

  test("of which the server took every word needs no second look", async () => {
    const world = new World();
    await world.send(body());
    expect(world.has(body(), stored())).toBe(true);
    expect(world.has(body(), stored({ a: "1" }, { resourceVersion: "6" }))).toBe(false);
  });

  test("is not remembered a second time by who remembers it anyway", async () => {
    const world = new World();
    await world.send(body());
    await world.send(body(), true);
    expect(world.records.get(ConfigMap, "default/c")).toBeUndefined();
    world.answer = () => stored({ a: "other" });
    await world.send(body(), true);
    expect(world.records.get(ConfigMap, "default/c")).toMatchObject({ uid: "1", version: "5" });
  });

  test.each<[string, JsonObject, Stored, boolean]>([
    [
      "with more that others said",
      body(),
      stored({ a: "1", b: "2" }, { labels: { app: "x", more: "y" } }),
      true,
    ],
    ["with another value", body(), stored({ a: "2" }), false],
    ["without a field", body({ a: "1", b: "2" }), stored(), false],
    ["without a label", body(), stored({ a: "1" }, { labels: {} }), false],
    ["with a longer list", body({ list: ["a"] }), stored({ list: ["a", "b"] }), false],
    ["with the same list", body({ list: ["a"] }), stored({ list: ["a"] }), true],
    ["with a text for a map", body({ map: { a: "1" } }), stored({ map: "a" }), false],
    ["with nothing for a map", body({ map: {} }), stored({ map: null }), false],
    ["with a list for a map", body({ map: {} }), stored({ map: [] }), false],
    ["with null as it was said", body({ a: null }), stored({ a: null }), true],
  ])("that comes back %s", async (_, asked, served, isVery) => {
    const world = new World();
    world.answer = () => served;
    await world.send(asked, true);
    expect(world.records.get(ConfigMap, "default/c") === undefined).toBe(isVery);
  });
});

describe("whether an apply would change an object, whichever manager owns its fields", () => {
  test("is asked of the server where the cache cannot tell, bound to the object, once for each version and body", async () => {
    const world = new World();
    world.answer = () => stored({ a: "1" }, { resourceVersion: "6", generation: 9, managedFields: [{}] });
    expect(await world.wouldChange(body(), stored())).toBe(false);
    expect(await world.wouldChange(body(), stored())).toBe(false);
    expect(world.sent).toEqual([
      {
        body: { ...body(), metadata: { ...(body()["metadata"] as JsonObject), uid: "1" } },
        options: { force: true, dryRun: true, signal: world.signal, fieldManager: "me" },
      },
    ]);
    world.answer = () => stored({ a: "2" });
    expect(await world.wouldChange(body({ a: "2" }), stored())).toBe(true);
    expect(await world.wouldChange(body({ a: "2" }), stored())).toBe(true);
    expect(world.sent).toHaveLength(2);
    await world.wouldChange(body({ a: "2" }), stored({ a: "1" }, { resourceVersion: "7" }));
    expect(world.sent).toHaveLength(3);
  });

  test("is known where the cache can tell", async () => {
    const world = new World();
    world.fields = owns("a");
    expect(await world.wouldChange(body(), stored())).toBe(false);
    expect(world.sent).toEqual([]);
  });

  test("is yes where the server refuses it, and unknown where it fails", async () => {
    const world = new World();
    world.answer = () => {
      throw new ApiError({ code: 422, reason: "Invalid" } as never, { doing: "apply" } as never);
    };
    expect(await world.wouldChange(body(), stored())).toBe(true);
    const away = new World();
    away.answer = () => {
      throw new Error("no answer");
    };
    await expect(away.wouldChange(body(), stored())).rejects.toThrow("no answer");
  });

  test("is asked again of an object that was gone", async () => {
    const world = new World();
    await world.wouldChange(body(), stored());
    world.applied.forget(ConfigMap, "default/c");
    await world.wouldChange(body(), stored());
    expect(world.sent).toHaveLength(2);
  });
});

test("records are kept by kind and name, and forgotten together", () => {
  const records = new AppliedRecords();
  const origin = { ownerUid: "1" } as Origin;
  records.setOrigin(ConfigMap, "a", origin);
  records.set(ConfigMap, "a", { uid: "1", intent: "", result: "", version: "1" });
  expect(records.origin(ConfigMap, "a")).toBe(origin);
  expect(records.origin(ConfigMap, "b")).toBeUndefined();
  records.unset(ConfigMap, "a");
  expect([records.get(ConfigMap, "a"), records.origin(ConfigMap, "a")]).toEqual([undefined, origin]);
  records.set(ConfigMap, "a", { uid: "1", intent: "", result: "", version: "1" });
  records.delete(ConfigMap, "a");
  expect([records.get(ConfigMap, "a"), records.origin(ConfigMap, "a")]).toEqual([undefined, undefined]);
});
