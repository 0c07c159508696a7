import type { ObjectOf } from "keelson";
import type { Pod } from "keelson/kinds";
import { expect, test } from "vitest";
import { workerView } from "./backup-pod-view.ts";

const view = (status: object) => workerView({ status } as ObjectOf<typeof Pod>, "verify");
const ended = (name: string, exitCode: number) => ({ name, state: { terminated: { exitCode } } });

test("a pod that was evicted before a container could report has failed, for its own reason", () => {
  const evicted = { phase: "Failed", reason: "Evicted", message: "the node was low on memory" };
  expect(view(evicted)).toEqual({
    state: "failed",
    reason: "Evicted",
    message: "the node was low on memory",
  });
  expect(view({ phase: "Failed" })).toEqual({
    state: "failed",
    reason: "PodFailed",
    message: "the pod failed",
  });
});

test("a pod whose copy is made and not yet verified works", () => {
  const running = { phase: "Running", initContainerStatuses: [ended("copy", 0)] };
  expect(view(running)).toMatchObject({ state: "working", copied: true });
  expect(view({ phase: "Pending" })).toMatchObject({ state: "working", copied: false });
});
