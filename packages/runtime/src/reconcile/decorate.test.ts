import type { Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { decorate } from "./decorate.ts";

/** What someone applied, as managed fields. */
const fields = (manager: string, labels: readonly string[], annotations: readonly string[] = []) => ({
  ...{ manager, operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1" },
  fieldsV1: {
    "f:metadata": {
      ...(labels.length ? { "f:labels": Object.fromEntries(labels.map((each) => [`f:${each}`, {}])) } : {}),
      ...(annotations.length
        ? { "f:annotations": Object.fromEntries(annotations.map((each) => [`f:${each}`, {}])) }
        : {}),
    },
  },
});

function objectOf(metadata: object = {}): Stored {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "default", uid: "1", ...metadata },
  } as never;
}

async function decorated(
  seen: Stored,
  wanted: readonly object[],
  {
    live = seen,
    memory = new Map<string, string>(),
  }: { live?: Stored | undefined; memory?: Map<string, string> } = {},
) {
  const did: unknown[] = [];
  const verbs = {
    find: async () => {
      did.push("look");
      return live;
    },
    apply: async (body: object, options: object) => void did.push({ body, options }),
  };
  const client = { kind: () => verbs, client: { kind: () => verbs } } as never;
  const signal = new AbortController().signal;
  await decorate(seen, wanted as never, {
    client,
    kind: ConfigMap,
    finalizer: "f",
    fieldManager: "me",
    signal,
    memory,
  });
  return did.map((each) => (typeof each === "string" ? each : (each as { body: object }).body));
}

const bodyWith = (rest: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default", uid: "1", ...rest },
});

describe("labels and annotations of an object of another's", () => {
  test("are applied, all that was asked for at once, and not again", async () => {
    const memory = new Map<string, string>();
    const wanted = [{ labels: { a: "1" } }, { labels: { b: "2" }, annotations: { c: "3" } }];
    const all = { labels: { a: "1", b: "2" }, annotations: { c: "3" } };
    expect(await decorated(objectOf(), wanted, { memory })).toEqual(["look", bodyWith(all)]);
    const after = objectOf({ ...all, managedFields: [fields("me", ["a", "b"], ["c"])] });
    expect(await decorated(after, wanted, { memory })).toEqual([]);
  });

  test("are looked at once where they stand already, and applied where they are not ours", async () => {
    const there = { labels: { a: "1" } };
    const ours = objectOf({ ...there, managedFields: [fields("me", ["a"])] });
    expect(await decorated(ours, [there])).toEqual(["look"]);
    const theirs = objectOf({ ...there, managedFields: [fields("them", ["a"])] });
    expect(await decorated(theirs, [there])).toEqual(["look", bodyWith(there)]);
  });

  test("go when they are asked for no more, and those of others stay", async () => {
    const before = { labels: { a: "1", b: "2" }, annotations: { c: "3" } };
    const seen = objectOf({ ...before, managedFields: [fields("me", ["a"], ["c"])] });
    expect(await decorated(seen, [])).toEqual(["look", bodyWith({})]);
    expect(await decorated(seen, [{ labels: { a: "1" } }])).toEqual([
      "look",
      bodyWith({ labels: { a: "1" } }),
    ]);
    expect(await decorated(objectOf(before), [])).toEqual(["look"]);
  });

  test("are put back when someone changes them", async () => {
    const wanted = [{ labels: { a: "1" } }];
    const memory = new Map([["1", JSON.stringify({ labels: { a: "1" } })]]);
    for (const labels of [undefined, { a: "2" }, { b: "1" }])
      expect(await decorated(objectOf({ labels }), wanted, { memory: new Map(memory) })).toHaveLength(2);
    expect(await decorated(objectOf({ labels: { a: "1", x: "y" } }), wanted, { memory })).toEqual([]);
  });

  test("are not put on another object of that name, nor on one that is gone", async () => {
    const memory = new Map<string, string>();
    const wanted = [{ labels: { a: "1" } }];
    expect(await decorated(objectOf(), wanted, { live: objectOf({ uid: "2" }), memory })).toEqual(["look"]);
    expect(memory.size).toBe(0);
  });

  test("of an object of the cluster have no namespace", async () => {
    const [, body] = await decorated(objectOf({ namespace: undefined }), [{ labels: { a: "1" } }]);
    expect((body as { metadata: object }).metadata).toEqual({ name: "a", uid: "1", labels: { a: "1" } });
  });
});
