import { expect, test } from "vitest";
import { readReport, summarize } from "./report.ts";

const spec = (text: string, state: string, more: object = {}) => ({
  LeafNodeType: "It",
  LeafNodeText: `${text} [Conformance]`,
  ContainerHierarchyTexts: ["[sig-node] Pods"],
  State: state,
  RunTime: 2_000_000_000,
  ...more,
});

test("a report is counted by sig, without what its filter left out", () => {
  const results = readReport(
    JSON.stringify([
      {
        SpecReports: [
          spec("a", "passed"),
          spec("b", "failed", { Failure: { Message: "timed out" } }),
          spec("c", "skipped"),
          spec("d", "skipped", { Failure: { Message: "needs three nodes" } }),
          spec("e", "panicked", { ContainerHierarchyTexts: ["[sig-apps] Deployment"] }),
          { LeafNodeType: "SynchronizedBeforeSuite", LeafNodeText: "", State: "passed", RunTime: 1 },
        ],
      },
    ]),
  );
  expect(results.map(({ sig, name, state }) => `${sig}: ${name} ${state}`)).toEqual([
    "node: Pods a [Conformance] passed",
    "node: Pods b [Conformance] failed",
    "node: Pods d [Conformance] skipped",
    "apps: Deployment e [Conformance] failed",
  ]);
  expect(summarize(results).at(-1)).toMatch(/^all\s+4\s+1\s+2\s+1$/);
});
