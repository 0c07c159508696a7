import { ApiError } from "@keelson/client";
import type { Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizer.ts";

const object = (finalizers?: readonly string[], metadata: object = {}) =>
  ({
    metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: "5", finalizers, ...metadata },
  }) as unknown as Stored;
const conflict = () => new ApiError({ code: 409, reason: "Conflict" } as never, { doing: "patch" } as never);

function server(answers: readonly (Error | undefined)[], found: readonly (Stored | undefined)[] = []) {
  const sent: object[] = [];
  const [left, objects] = [[...answers], [...found]];
  const verbs = {
    patch: async (_: object, { body }: { body: { metadata: object } }) => {
      sent.push(body.metadata);
      const error = left.shift();
      if (error) throw error;
      return "patched";
    },
    find: async () => objects.shift(),
  };
  const client = { kind: () => verbs } as never;
  const signal = new AbortController().signal;
  return { sent, options: { client, kind: ConfigMap, finalizer: "ours", fieldManager: "m", signal } };
}

test("an object has it or not", () => {
  expect(hasFinalizer(object(["x", "ours"]), "ours")).toBe(true);
  expect(hasFinalizer(object(["x"]), "ours")).toBe(false);
  expect(hasFinalizer(object(), "ours")).toBe(false);
});

test("it is added to those that are there, as of the version that was seen", async () => {
  const { sent, options } = server([]);
  expect(await addFinalizer(object(["x"]), options)).toBe("patched");
  await addFinalizer(object(), options);
  expect(sent).toEqual([
    { uid: "1", resourceVersion: "5", finalizers: ["x", "ours"] },
    { uid: "1", resourceVersion: "5", finalizers: ["ours"] },
  ]);
});

describe("it is removed", () => {
  test("and the others stay", async () => {
    const { sent, options } = server([]);
    await removeFinalizer(object(["x", "ours", "y"]), options);
    expect(sent).toEqual([{ uid: "1", resourceVersion: "5", finalizers: ["x", "y"] }]);
  });

  test("again from a newer version, when someone else was faster", async () => {
    const { sent, options } = server([conflict()], [object(["ours", "z"], { resourceVersion: "6" })]);
    await removeFinalizer(object(["ours"]), options);
    expect(sent[1]).toEqual({ uid: "1", resourceVersion: "6", finalizers: ["z"] });
  });

  test.each([
    ["it is gone", undefined],
    ["it is another object", object(["ours"], { uid: "2" })],
    ["it is off already", object(["x"])],
  ])("not when %s by then", async (_, found) => {
    const { sent, options } = server([conflict()], [found]);
    await removeFinalizer(object(["ours"]), options);
    expect(sent).toHaveLength(1);
  });

  test("not where it is not there", async () => {
    const { sent, options } = server([]);
    await removeFinalizer(object(["x"]), options);
    expect(sent).toEqual([]);
  });

  test("four times at most, and not again after another error", async () => {
    const again = Array.from({ length: 9 }, () => object(["ours"]));
    const busy = server(Array.from({ length: 9 }, conflict), again);
    await expect(removeFinalizer(object(["ours"]), busy.options)).rejects.toThrow("cannot patch");
    expect(busy.sent).toHaveLength(4);
    const broken = server([new Error("broken")], again);
    await expect(removeFinalizer(object(["ours"]), broken.options)).rejects.toThrow("broken");
    expect(broken.sent).toHaveLength(1);
  });
});
