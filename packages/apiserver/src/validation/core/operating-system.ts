/** What a pod may say when it names its operating system. */
import type { PodSpec } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { visitContainers } from "./all-containers.ts";

const systems = ["linux", "windows"];
const refusal = "cannot be set for a windows pod";

/** Fields of the pod that Windows has no use for, in the order in which they are refused. */
const windowsPod: readonly [field: string, inContext: boolean][] = [
  ["appArmorProfile", true],
  ["seLinuxOptions", true],
  ["hostUsers", false],
  ["hostPID", false],
  ["hostIPC", false],
  ["seccompProfile", true],
  ["fsGroup", true],
  ["fsGroupChangePolicy", true],
  ["sysctls", true],
  ["shareProcessNamespace", false],
  ["runAsUser", true],
  ["runAsGroup", true],
  ["supplementalGroups", true],
  ["supplementalGroupsPolicy", true],
  ["seLinuxChangePolicy", true],
];
const windowsContainer = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
];

export function checkOperatingSystem(path: string, spec: PodSpec, errors: Errors): void {
  if (!spec.os) return;
  const { name } = spec.os;
  if (!name) errors.required(`${path}.os.name`);
  else if (!systems.includes(name)) errors.notSupported(`${path}.os`, name, systems);
  else if (name === "linux") checkLinux(path, spec, errors);
  else checkWindows(path, spec, errors);
}

function checkLinux(path: string, spec: PodSpec, errors: Errors): void {
  const refuse = (at: string) =>
    errors.forbidden(`${at}.securityContext.windowsOptions`, "windows options cannot be set for a linux pod");
  if (spec.securityContext?.windowsOptions) refuse(path);
  visitContainers(spec, path, (container, at) => {
    if (container.securityContext?.windowsOptions) refuse(at);
  });
}

function checkWindows(path: string, spec: PodSpec, errors: Errors): void {
  const context = (spec.securityContext ?? {}) as Record<string, unknown>;
  for (const [field, inContext] of windowsPod) {
    const value = (inContext ? context : (spec as unknown as Record<string, unknown>))[field];
    const unset = value === undefined || ((field === "hostPID" || field === "hostIPC") && !value);
    if (!unset) errors.forbidden(`${path}.${inContext ? "securityContext." : ""}${field}`, refusal);
  }
  visitContainers(spec, path, (container, at) => {
    const own = (container.securityContext ?? {}) as Record<string, unknown>;
    for (const field of windowsContainer)
      if (own[field] !== undefined) errors.forbidden(`${at}.securityContext.${field}`, refusal);
  });
}

export function checkWindowsHostProcess(path: string, spec: PodSpec, errors: Errors): void {
  const pod = spec.securityContext?.windowsOptions?.hostProcess;
  let containers = 0;
  let hostProcesses = 0;
  visitContainers(spec, path, (container, at) => {
    containers++;
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (pod !== undefined && own !== undefined && pod !== own)
      errors.invalid(
        `${at}.securityContext.windowsOptions.hostProcess`,
        own,
        `pod hostProcess value must be identical if both are specified, was ${pod}`,
      );
    if (own ?? pod) hostProcesses++;
  });
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers)
    errors.invalid(
      path,
      "",
      "If pod contains any hostProcess containers then all containers must be HostProcess containers",
    );
  if (!spec.hostNetwork)
    errors.invalid(
      `${path}.hostNetwork`,
      false,
      "hostNetwork must be true if pod contains any hostProcess containers",
    );
}
