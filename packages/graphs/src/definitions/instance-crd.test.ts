/** The record of the definition that is in force. */
import { expect, test } from "vitest";
import type { Graph } from "../graph/graph.ts";
import { acceptedSpec, crdPatch, desiredCrd, type StoredCrd } from "./instance-crd.ts";

const graph = {
  nodes: [],
  crd: {
    metadata: { name: "webs.kro.run" },
    spec: { names: { kind: "Web" }, versions: [{ name: "v1", schema: { openAPIV3Schema: {} } }] },
  },
} as unknown as Graph;
const owner = { name: "web", uid: "1" };
const specOf = (text: string) => ({ schema: { kind: "Web", apiVersion: "v1", spec: { text } } }) as never;

test("a definition that is too long to be kept leaves no earlier one in its place", () => {
  const before = desiredCrd(graph, owner, specOf("short"), []) as StoredCrd;
  expect(acceptedSpec(before)).toEqual(specOf("short"));
  const patch = crdPatch(before, desiredCrd(graph, owner, specOf("x".repeat(200_001)), []), {
    owner,
    allowBreaking: false,
  });
  expect(patch).toMatchObject({ metadata: { annotations: { "graphs.keelson.dev/accepted": null } } });
  const again = crdPatch(before, desiredCrd(graph, owner, specOf("short"), []), {
    owner,
    allowBreaking: false,
  });
  expect(again).toBeUndefined();
});
