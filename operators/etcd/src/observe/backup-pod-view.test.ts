import type { ObjectOf } from "keelson";
import type { Pod } from "keelson/kinds";
import { describe, expect, test } from "vitest";
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

const said = (name: string, exitCode: number, message?: string, reason?: string) => ({
  name,
  state: { terminated: { exitCode, message, reason } },
});
const waits = (name: string, reason: string, message?: string) => ({
  name,
  state: { waiting: { reason, message } },
});
const runs = (name: string) => ({ name, state: { running: {} } });
const containers = (...statuses: object[]) => view({ initContainerStatuses: statuses });

describe("the container that completes the work", () => {
  test("has ended with its report", () => {
    const manifest = { format: 1 };
    const report = JSON.stringify({ ok: true, manifest });
    expect(containers(said("copy", 0), said("verify", 0, report))).toEqual({ state: "done", manifest });
    expect(view({ containerStatuses: [said("verify", 0, JSON.stringify({ ok: true }))] })).toMatchObject({
      state: "done",
    });
  });

  test.each([
    ["a word", undefined],
    ["a report that can be read", "{"],
    ["a report of success", JSON.stringify({ ok: false, code: "x", message: "y" })],
  ])("has ended without %s", (_, message) => {
    expect(containers(said("verify", 0, message))).toEqual({
      state: "failed",
      reason: "NoReport",
      message: "verify ended without a report",
    });
  });
});

describe("a container that failed", () => {
  test("says why in its report", () => {
    const report = JSON.stringify({ ok: false, code: "StoreFull", message: "no space" });
    expect(containers(said("copy", 1, report))).toEqual({
      state: "failed",
      reason: "StoreFull",
      message: "no space",
    });
  });

  test.each([
    [
      "the last three lines that it wrote",
      said("copy", 2, "one\ntwo\nthree\nfour\n"),
      "Failed",
      "copy ended with 2: two three four",
    ],
    [
      "its reason, where it wrote nothing",
      said("copy", 137, undefined, "OOMKilled"),
      "Failed",
      "copy ended with 137: OOMKilled",
    ],
    ["nothing", said("copy", 1), "Failed", "copy ended with 1: "],
    ["a report of success", said("copy", 1, '{"ok":true}'), "Failed", 'copy ended with 1: {"ok":true}'],
    ["a restore", said("restore", 1, "bad"), "RestoreFailed", "restore ended with 1: bad"],
    ["a restored etcd", said("etcd", 1, "bad"), "RestoreFailed", "etcd ended with 1: bad"],
  ])("is told of by %s", (_, status, reason, message) => {
    expect(containers(status)).toEqual({ state: "failed", reason, message });
  });
});

describe("what a pod that works waits for", () => {
  const scheduled = (type: string, status: string, more: object = {}) => ({
    conditions: [{ type, status, ...more }],
  });
  test.each([
    [
      "a node",
      scheduled("PodScheduled", "False", { message: "too large" }),
      "the pod is not scheduled: too large",
    ],
    [
      "a node, by its reason",
      scheduled("PodScheduled", "False", { reason: "Unschedulable" }),
      "the pod is not scheduled: Unschedulable",
    ],
    ["nothing of that, once it has one", scheduled("PodScheduled", "True"), "the pod is starting"],
    ["nothing of that, where it is not ready", scheduled("Ready", "False"), "the pod is starting"],
    [
      "an image",
      { initContainerStatuses: [waits("copy", "ErrImagePull", "no such tag")] },
      "copy does not start: no such tag",
    ],
    [
      "an image, by its reason",
      { initContainerStatuses: [waits("copy", "ErrImagePull")] },
      "copy does not start: ErrImagePull",
    ],
    [
      "containers that are made",
      { initContainerStatuses: [waits("copy", "PodInitializing")] },
      "the pod is starting",
    ],
    [
      "a container that is made",
      { initContainerStatuses: [waits("copy", "ContainerCreating")] },
      "the pod is starting",
    ],
    ["the copy", { initContainerStatuses: [runs("other"), runs("copy")] }, "the snapshot is being copied"],
    [
      "the comparison",
      { initContainerStatuses: [said("copy", 0), runs("verify")] },
      "the restored member is being compared with the cluster",
    ],
    ["a container of another's", { initContainerStatuses: [runs("sidecar")] }, "the pod is starting"],
  ])("is %s", (_, status, message) => {
    expect(view(status)).toMatchObject({ state: "working", message });
  });

  test("a copy that has failed is none", () => {
    expect(containers({ name: "copy", state: {} })).toMatchObject({ copied: false });
    expect(containers(said("fetch", 0))).toMatchObject({ copied: false });
  });
});
