import type { Container } from "@keelson/core/kinds";
import { expect, test } from "vitest";
import { podLimits } from "./pod-limits.ts";

const container = (
  name: string,
  limits?: Record<string, string>,
  over: Partial<Container> = {},
): Container => ({
  name,
  image: "i",
  ...(limits && { resources: { limits } }),
  ...over,
});
const mebibyte = 1024 * 1024;

test("limits of all containers add up, and an init container counts where it needs more", () => {
  const spec = {
    containers: [
      container("a", { memory: "64Mi", cpu: "1" }),
      container("b", { memory: "32Mi", cpu: "500m" }),
    ],
    initContainers: [container("i", { memory: "256Mi", cpu: "100m" })],
  };
  expect(podLimits(spec, 10)).toEqual({ processes: 10, memoryBytes: 256 * mebibyte, cpuMillis: 1500 });
});

test("a sidecar adds to the others", () => {
  const spec = {
    containers: [container("a", { memory: "64Mi" })],
    initContainers: [container("s", { memory: "16Mi" }, { restartPolicy: "Always" })],
  };
  expect(podLimits(spec, 10)).toEqual({ processes: 10, memoryBytes: 80 * mebibyte });
});

test("one container without a limit leaves the pod without one", () => {
  const spec = { containers: [container("a", { memory: "64Mi", cpu: "1" }), container("b", { cpu: "1" })] };
  expect(podLimits(spec, 10)).toEqual({ processes: 10, cpuMillis: 2000 });
});

test("limits of the pod as a whole come first", () => {
  const spec = { containers: [container("a", { memory: "64Mi" })], resources: { limits: { memory: "1Gi" } } };
  expect(podLimits(spec, 10)).toEqual({ processes: 10, memoryBytes: 1024 * mebibyte });
});

test("requests of CPU weigh the pod against others", () => {
  const a = container("a", undefined, { resources: { requests: { cpu: "250m" } } });
  expect(podLimits({ containers: [a, a] }, 10)).toEqual({ processes: 10, cpuShares: 512 });
});
