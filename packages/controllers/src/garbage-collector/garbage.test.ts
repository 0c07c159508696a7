import { dynamicKind, type OwnerReference } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { judge, type OwnerState } from "./decide.ts";
import { blocks, OwnerGraph, type Vertex } from "./graph.ts";

const kind = dynamicKind({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  resource: "configmaps",
  scope: "Namespaced",
});
const reference = (uid: string, blockOwnerDeletion = false): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: uid,
  uid,
  blockOwnerDeletion,
});
const vertex = (uid: string, owners: OwnerReference[] = [], more: Partial<Vertex> = {}): Vertex => ({
  kind,
  apiVersion: "v1",
  namespace: "default",
  name: uid,
  uid,
  owners,
  isDeleting: false,
  finalizers: [],
  ...more,
});
const foreground = { isDeleting: true, finalizers: ["foregroundDeletion"] };

describe("an object whose owners are", () => {
  const decision = (states: OwnerState[], more: { finalizers?: string[]; hasDependents?: boolean } = {}) =>
    judge({
      owners: states.map((state, index) => ({ reference: reference(String(index)), state })),
      finalizers: more.finalizers ?? [],
      hasDependents: more.hasDependents ?? false,
    });

  test("there stays", () => {
    expect(decision(["solid", "solid"])).toEqual({ action: "keep" });
    expect(decision([])).toEqual({ action: "keep" });
  });

  test("partly there forgets the others", () => {
    expect(decision(["dangling", "solid", "waiting"])).toEqual({ action: "disown", uids: ["0", "2"] });
  });

  test("gone goes too", () => {
    expect(decision(["dangling"])).toEqual({ action: "delete", propagation: "Background" });
  });

  test("waiting for it goes, in the foreground where others depend on it", () => {
    expect(decision(["waiting"])).toEqual({ action: "delete", propagation: "Background" });
    expect(decision(["waiting"], { hasDependents: true })).toEqual({
      action: "delete",
      propagation: "Foreground",
    });
  });

  test("unknown stays: nothing can be decided", () => {
    expect(decision(["dangling", "unresolvable"])).toEqual({ action: "keep" });
  });

  test("gone goes as its own finalizers demand", () => {
    expect(decision(["dangling"], { finalizers: ["orphan"] })).toEqual({
      action: "delete",
      propagation: "Orphan",
    });
  });
});

describe("the graph", () => {
  test("looks at what has owners when it appears, and at dependents when an owner goes", () => {
    const graph = new OwnerGraph();
    expect(graph.put(vertex("a"))).toEqual(new Set());
    expect(graph.put(vertex("b", [reference("a")]))).toEqual(new Set(["b"]));
    expect(graph.put(vertex("b", [reference("a")]))).toEqual(new Set());
    expect(graph.remove("a")).toEqual(new Set(["b"]));
  });

  test("looks at an owner that waits when one of its dependents goes or lets go", () => {
    const graph = new OwnerGraph();
    graph.put(vertex("b", [reference("a", true)]));
    expect(graph.put(vertex("a", [], foreground))).toEqual(new Set(["a"]));
    expect(graph.put(vertex("b", []))).toContain("a");
    graph.put(vertex("c", [reference("a", true)]));
    expect(graph.remove("c")).toEqual(new Set(["a"]));
  });

  test("knows dependents of owners it has never seen", () => {
    const graph = new OwnerGraph();
    graph.put(vertex("b", [reference("a")]));
    expect(graph.dependentsOf("a").map(({ uid }) => uid)).toEqual(["b"]);
    graph.remove("b");
    expect(graph.dependentsOf("a")).toEqual([]);
  });

  test("tells who holds an owner up", () => {
    expect(blocks(vertex("b", [reference("a", true)]), "a")).toBe(true);
    expect(blocks(vertex("b", [reference("a")]), "a")).toBe(false);
  });
});
