/** From a desired child to the body that is applied. */
import type { Stored } from "@keelson/core";
import { ConfigMap, Deployment, Namespace } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import type { Controller } from "../controller/controller.ts";
import {
  childBody,
  childKey,
  describeChild,
  isShortened,
  ownerLabels,
  ownerLabelValue,
} from "./child-body.ts";

const owner = { metadata: { name: "web", namespace: "shop", uid: "u1" } } as Stored;
const roaming = { metadata: { name: "web", uid: "u1" } } as Stored;
const controller = {
  name: "site",
  kind: { group: "example.com", version: "v1", kind: "Site", scope: "Namespaced" },
  owns: {
    settings: { kind: ConfigMap, options: {} },
    kept: { kind: ConfigMap, options: { outlives: true } },
    named: { kind: ConfigMap, options: { name: (_: Stored, key: string) => `x${key}` } },
    home: { kind: Namespace, options: { outlives: true } },
  },
} as unknown as Controller;
const body = (slot: string, key = "", desired: object = {}, of = owner) =>
  childBody(controller, of, { slot, key }, desired as never);
const reference = {
  apiVersion: "example.com/v1",
  kind: "Site",
  name: "web",
  uid: "u1",
  controller: true,
  blockOwnerDeletion: true,
};

describe("a child", () => {
  test("carries its owner and its slot, and what was asked for beside them", () => {
    const desired = {
      metadata: {
        labels: { app: "web" },
        annotations: { a: "1" },
        finalizers: ["f"],
        ownerReferences: [{ uid: "x" }],
      },
      data: { k: "v" },
    };
    expect(body("settings", "", desired)).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "web",
        namespace: "shop",
        labels: { app: "web", "keelson.dev/controller": "site", "keelson.dev/slot": "settings" },
        annotations: { a: "1" },
        finalizers: ["f"],
        ownerReferences: [reference, { uid: "x" }],
      },
      data: { k: "v" },
    });
  });

  test("of a slot for many is named after its key", () => {
    expect(body("settings", "a").metadata).toEqual({
      name: "web-a",
      namespace: "shop",
      labels: { "keelson.dev/controller": "site", "keelson.dev/slot": "settings", "keelson.dev/key": "a" },
      ownerReferences: [reference],
    });
    expect(body("named", "7").metadata.name).toBe("x7");
    expect(body("settings", "a", { metadata: { name: "mine" } }).metadata.name).toBe("mine");
  });

  test("that outlives its owner is bound by a label, with the namespace where it lives elsewhere", () => {
    const labels = {
      "keelson.dev/controller": "site",
      "keelson.dev/slot": "kept",
      "keelson.dev/owner": "web",
    };
    expect(body("kept").metadata).toEqual({ name: "web", namespace: "shop", labels });
    expect(body("kept", "", { metadata: { namespace: "vault" } }).metadata).toEqual({
      name: "web",
      namespace: "vault",
      labels: { ...labels, "keelson.dev/owner-namespace": "shop" },
    });
    expect(body("kept", "", { metadata: { ownerReferences: [{ uid: "x" }] } }).metadata).toMatchObject({
      ownerReferences: [{ uid: "x" }],
    });
    expect(body("home").metadata).toEqual({
      name: "web",
      labels: { ...labels, "keelson.dev/slot": "home", "keelson.dev/owner-namespace": "shop" },
    });
  });

  test("of an owner without a namespace names its own", () => {
    expect(body("kept", "", { metadata: { namespace: "a" } }, roaming).metadata).toMatchObject({
      namespace: "a",
    });
    expect(body("settings", "", { metadata: { namespace: "a" } }, roaming).metadata).toMatchObject({
      namespace: "a",
    });
    expect(() => body("settings", "", {}, roaming)).toThrow(
      'ConfigMap "settings" needs a namespace: its owner web is',
    );
  });
});

describe("a child is refused", () => {
  test.each([
    [
      "in another namespace than its owner",
      () => body("settings", "", { metadata: { namespace: "a" } }),
      "cannot live in namespace a",
    ],
    [
      "with a key that no label can hold",
      () => body("settings", "a b"),
      'the key "a b" of ConfigMap "settings/a b" cannot be a label',
    ],
    [
      "with what JSON cannot carry",
      () => body("settings", "", { data: { at: 1n } }),
      'ConfigMap "settings" cannot be sent',
    ],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});

test("a child is found under its namespace and name", () => {
  const key = (slot: string, id: string, desired: object = {}, of = owner) =>
    childKey(controller.owns[slot] as never, of, { slot, key: id }, desired as never);
  expect(key("settings", "")).toBe("shop/web");
  expect(key("settings", "a")).toBe("shop/web-a");
  expect(key("kept", "", { metadata: { namespace: "vault", name: "x" } })).toBe("vault/x");
  expect(key("home", "", { metadata: { namespace: "ignored" } })).toBe("web");
  expect(describeChild(Deployment, { slot: "app", key: "" })).toBe('Deployment.apps "app"');
  expect(describeChild(Deployment, { slot: "app", key: "1" })).toBe('Deployment.apps "app/1"');
});

test("a name that is too long for a label is shortened, and still tells owners apart", () => {
  const [fits, long] = ["a".repeat(63), "a".repeat(64)];
  expect(ownerLabelValue(fits)).toBe(fits);
  expect(ownerLabelValue(long)).toMatch(/^a{46}-[0-9a-f]{16}$/);
  expect(ownerLabelValue(`${"a".repeat(45)}-${"b".repeat(40)}`)).toMatch(/^a{45}-[0-9a-f]{16}$/);
  expect(ownerLabelValue(long)).not.toBe(ownerLabelValue(`${long}b`));
  expect(isShortened(ownerLabelValue(long))).toBe(true);
  expect(isShortened(fits)).toBe(false);
});

test("labels name the owner, and its namespace only where that is another", () => {
  expect(ownerLabels(owner, "shop")).toEqual({ "keelson.dev/owner": "web" });
  expect(ownerLabels(owner, undefined)).toEqual({
    "keelson.dev/owner": "web",
    "keelson.dev/owner-namespace": "shop",
  });
  expect(ownerLabels(roaming, "shop")).toEqual({ "keelson.dev/owner": "web" });
});
