import type { PodSpec } from "@keelson/core/kinds";
import { expect, test } from "vitest";
import { type NodeView, rejectionOf } from "./pod-admission.ts";

const policy = { allowedUnsafeSysctls: [] };
const empty = {
  allocatable: { cpu: "2", memory: "1Gi", pods: "2" },
  others: [],
  node: { metadata: { name: "n", labels: { disk: "ssd" } } },
};
const container = { name: "c", image: "i" };

test("an ordinary pod is taken", () => {
  expect(rejectionOf({ containers: [container] }, policy, empty)).toBeUndefined();
  const unconfined = { appArmorProfile: { type: "Unconfined" as const } };
  expect(
    rejectionOf({ containers: [{ ...container, securityContext: unconfined }] }, policy, empty),
  ).toBeUndefined();
});

test("kernel settings that the node does not give are refused", () => {
  const sysctls = [{ name: "vm.swappiness", value: "1" }];
  expect(rejectionOf({ containers: [container], securityContext: { sysctls } }, policy, empty)).toEqual({
    reason: "SysctlForbidden",
    message: 'forbidden sysctl: "vm.swappiness" not allowlisted',
  });
});

test("AppArmor profiles, which nothing here enforces, are refused", () => {
  const securityContext = { appArmorProfile: { type: "RuntimeDefault" as const } };
  for (const spec of [
    { containers: [container], securityContext },
    { containers: [{ ...container, securityContext }] },
    { containers: [container], initContainers: [{ ...container, securityContext }] },
  ]) {
    expect(rejectionOf(spec, policy, empty)?.reason).toBe("AppArmor");
  }
});

const withPort = (hostPort: number, hostIP = ""): PodSpec => ({
  containers: [{ ...container, ports: [{ containerPort: 80, hostPort, hostIP }] }],
});
const asking = (requests: Record<string, string>): PodSpec => ({
  containers: [{ ...container, resources: { requests } }],
});

test.each<[string, PodSpec, Partial<NodeView>, ReturnType<typeof rejectionOf>]>([
  [
    "a host port that another pod has",
    withPort(80),
    { others: [withPort(80, "127.0.0.1")] },
    {
      reason: "NodePorts",
      message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    },
  ],
  [
    "a host port on another address",
    withPort(80, "10.0.0.1"),
    { others: [withPort(80, "127.0.0.1")] },
    undefined,
  ],
  [
    "more than the others leave",
    asking({ cpu: "1500m" }),
    { others: [asking({ cpu: "1" })] },
    {
      reason: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
    },
  ],
  ["what nobody offers", asking({ "example.com/gadget": "1" }), {}, undefined],
  [
    "one pod too many",
    asking({}),
    { others: [asking({}), asking({})] },
    {
      reason: "OutOfpods",
      message: "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
    },
  ],
  [
    "another node's label",
    { ...asking({}), nodeSelector: { disk: "tape" } },
    {},
    {
      reason: "NodeAffinity",
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    },
  ],
  ["the node's label", { ...asking({}), nodeSelector: { disk: "ssd" } }, {}, undefined],
])("a pod that asks for %s is answered as by the kubelet", (_, spec, view, expected) => {
  expect(rejectionOf(spec, policy, { ...empty, ...view })).toEqual(expected);
});
