import { expect, test } from "vitest";
import { start } from "../../test/builders.ts";
import { type Emptying, isEmptied, namespaceConditions } from "./namespace-conditions.ts";

const nothing: Emptying = {
  remaining: new Map(),
  finalizers: new Map(),
  discoveryFailures: [],
  deleteFailures: [],
  podsFirst: false,
};

test("an empty namespace says so in all its conditions", () => {
  const conditions = namespaceConditions([], nothing, start);
  expect(conditions.map(({ type, status, reason }) => `${type}/${status}/${reason}`)).toEqual([
    "NamespaceDeletionDiscoveryFailure/False/ResourcesDiscovered",
    "NamespaceDeletionGroupVersionParsingFailure/False/ParsedGroupVersions",
    "NamespaceDeletionContentFailure/False/ContentDeleted",
    "NamespaceContentRemaining/False/ContentRemoved",
    "NamespaceFinalizersRemaining/False/ContentHasNoFinalizers",
  ]);
  expect(namespaceConditions(conditions, nothing, start + 9)).toBe(conditions);
});

test("what is left is counted, by resource and by finalizer", () => {
  const found = {
    ...nothing,
    remaining: new Map([
      ["pods.", 2],
      ["deployments.apps", 1],
    ]),
    finalizers: new Map([["example.com/hold", 3]]),
  };
  const messages = namespaceConditions([], found, start).map(({ message }) => message);
  expect(messages).toContain(
    "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances",
  );
  expect(messages).toContain(
    "Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances",
  );
});

test("the time moves only when the status does", () => {
  const before = namespaceConditions([], nothing, start);
  const after = namespaceConditions(before, { ...nothing, deleteFailures: ["no"] }, start + 60_000);
  expect(after[2]).toMatchObject({ status: "True", lastTransitionTime: "2026-01-01T00:01:00Z" });
  expect(after[0]).toBe(before[0]);
});

test("a namespace is empty only when every kind in it could be looked at and deleted", () => {
  expect(isEmptied(nothing)).toBe(true);
  expect(isEmptied({ ...nothing, remaining: new Map([["pods.", 1]]) })).toBe(false);
  const unanswered = [{ groupVersion: "metrics.k8s.io/v1beta1", message: "no answer" }];
  expect(isEmptied({ ...nothing, discoveryFailures: unanswered })).toBe(false);
  expect(isEmptied({ ...nothing, deleteFailures: ["forbidden"] })).toBe(false);
});
