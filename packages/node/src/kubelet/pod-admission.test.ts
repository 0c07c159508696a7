import { expect, test } from "vitest";
import { rejectionOf } from "./pod-admission.ts";

const policy = { allowedUnsafeSysctls: [] };
const container = { name: "c", image: "i" };

test("an ordinary pod is taken", () => {
  expect(rejectionOf({ containers: [container] }, policy)).toBeUndefined();
  const unconfined = { appArmorProfile: { type: "Unconfined" as const } };
  expect(
    rejectionOf({ containers: [{ ...container, securityContext: unconfined }] }, policy),
  ).toBeUndefined();
});

test("kernel settings that the node does not give are refused", () => {
  const sysctls = [{ name: "vm.swappiness", value: "1" }];
  expect(rejectionOf({ containers: [container], securityContext: { sysctls } }, policy)).toEqual({
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
    expect(rejectionOf(spec, policy)?.reason).toBe("AppArmor");
  }
});
