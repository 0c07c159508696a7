import { expect, test } from "vitest";
import { limitsOf } from "./container-starter.ts";

test.each([
  ["nothing", {}, { cpuShares: 2 }],
  ["a request", { requests: { cpu: "250m" } }, { cpuShares: 256 }],
  [
    "a limit alone",
    { limits: { cpu: "1", memory: "1Ki" } },
    { cpuShares: 1024, cpuMillis: 1000, memoryBytes: 1024 },
  ],
  ["both", { requests: { cpu: "1m" }, limits: { cpu: "2" } }, { cpuShares: 2, cpuMillis: 2000 }],
])("a container that asks for %s weighs as it does for the kubelet", (_, resources, expected) => {
  expect(limitsOf({ name: "c", resources })).toEqual(expected);
});
