import { expect, test } from "vitest";
import { type Look, usageBetween } from "./usage.ts";

const look = (atMs: number, containers: Record<string, [seconds: number, bytes: number]>): Look => {
  const figures = ([seconds, bytes]: [number, number]) => ({
    cpu: { usageCoreNanoSeconds: seconds * 1e9 },
    memory: { workingSetBytes: bytes },
  });
  const sum = Object.values(containers).reduce<[number, number]>(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  return {
    atMs,
    summaries: [
      {
        node: { nodeName: "n", ...figures(sum) },
        pods: [
          {
            podRef: { name: "p", namespace: "default", uid: "u" },
            containers: Object.entries(containers).map(([name, used]) => ({ name, ...figures(used) })),
          },
        ],
      },
    ],
  };
};

test("usage is what was counted between two looks", () => {
  const { nodes, pods, windowMs } = usageBetween(
    look(0, { a: [10, 5], b: [1, 1] }),
    look(10_000, { a: [12, 7], b: [1.5, 2] }),
  );
  expect(windowMs).toBe(10_000);
  expect(nodes).toEqual([{ name: "n", cores: 0.25, bytes: 9 }]);
  expect([...(pods[0]?.containers ?? [])]).toEqual([
    ["a", { cores: 0.2, bytes: 7 }],
    ["b", { cores: 0.05, bytes: 2 }],
  ]);
});

test("a pod has no usage while one of its containers is new or began again", () => {
  const before = look(0, { a: [10, 5] });
  expect(usageBetween(before, look(1_000, { a: [11, 5], b: [1, 1] })).pods).toEqual([]);
  expect(usageBetween(before, look(1_000, { a: [2, 5] })).pods).toEqual([]);
});
