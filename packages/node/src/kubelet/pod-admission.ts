/** What a node does not take, however it came here: pods that ask for what it cannot or must not give. Pure. */
import type { AppArmorProfile, PodSpec } from "@keelson/core/kinds";
import { forbiddenSysctl } from "./sysctls.ts";

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export interface AdmissionPolicy {
  /** Kernel settings beyond the safe ones, by name or with a star at the end. */
  readonly allowedUnsafeSysctls: readonly string[];
}

/** In the kubelet's words. */
export function rejectionOf(spec: PodSpec, policy: AdmissionPolicy): Rejection | undefined {
  const forbidden = forbiddenSysctl(spec, policy.allowedUnsafeSysctls);
  if (forbidden !== undefined) return { reason: "SysctlForbidden", message: forbidden };
  if (profilesOf(spec).some(({ type }) => type !== "Unconfined")) {
    return { reason: "AppArmor", message: "Cannot enforce AppArmor: AppArmor is not enabled on the host" };
  }
  return undefined;
}

function profilesOf(spec: PodSpec): AppArmorProfile[] {
  const contexts = [spec, ...spec.containers, ...(spec.initContainers ?? [])].map(
    (each) => each.securityContext,
  );
  return contexts.flatMap((context) => context?.appArmorProfile ?? []);
}
