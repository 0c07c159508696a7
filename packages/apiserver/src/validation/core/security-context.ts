/** Security contexts of pods and containers. */
import { validateDns1123Subdomain } from "@keelson/core";
import type {
  AppArmorProfile,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  WindowsSecurityContextOptions,
} from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { accountId } from "../checks/formats.ts";
import { checkDescending } from "./paths.ts";

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

function checkSeccomp(path: string, profile: SeccompProfile | undefined, errors: Errors): void {
  if (!profile) return;
  if (!profile.type) errors.required(`${path}.type`, "type is required when seccompProfile is set");
  else if (!profileTypes.includes(profile.type))
    errors.notSupported(`${path}.type`, profile.type, profileTypes);
  const file = profile.localhostProfile;
  if (profile.type === "Localhost") {
    if (file === undefined)
      errors.required(`${path}.localhostProfile`, "must be set when seccomp type is Localhost");
    else checkDescending(`${path}.localhostProfile`, file, errors);
  } else if (file !== undefined)
    errors.invalid(
      `${path}.localhostProfile`,
      { Type: profile.type ?? "", LocalhostProfile: file },
      "can only be set when seccomp type is Localhost",
    );
}

export function checkAppArmor(path: string, profile: AppArmorProfile | undefined, errors: Errors): void {
  if (!profile) return;
  const at = `${path}.localhostProfile`;
  const name = profile.localhostProfile;
  switch (profile.type) {
    case "Localhost":
      if (name === undefined) errors.required(at, "must be set when AppArmor type is Localhost");
      else {
        if (name.trim() !== name) errors.invalid(at, name, "must not be padded with whitespace");
        else if (name === "") errors.required(at, "must be set when AppArmor type is Localhost");
        if (name.length > 4095) errors.tooLong(at, 4095);
      }
      return;
    case "RuntimeDefault":
    case "Unconfined":
      if (name !== undefined) errors.invalid(at, name, "can only be set when AppArmor type is Localhost");
      return;
    default:
      if (!profile.type) errors.required(`${path}.type`, "type is required when appArmorProfile is set");
      else errors.notSupported(`${path}.type`, profile.type, profileTypes);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const control = /[\u0000-\u001f\u007f]/;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const windowsLabel = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const windowsDomain = new RegExp(`^${windowsLabel}(?:\\.${windowsLabel})*$`);

function checkWindows(
  path: string,
  options: WindowsSecurityContextOptions | undefined,
  errors: Errors,
): void {
  if (!options) return;
  const { gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  if (specName !== undefined)
    errors.messages(`${path}.gmsaCredentialSpecName`, specName, validateDns1123Subdomain(specName));
  if (spec === "")
    errors.invalid(`${path}.gmsaCredentialSpec`, spec, "gmsaCredentialSpec cannot be an empty string");
  else if (spec !== undefined && spec.length > 65_536)
    errors.invalid(`${path}.gmsaCredentialSpec`, spec, "gmsaCredentialSpec size must be under 64 KiB");
  if (user !== undefined)
    for (const message of windowsUser(user)) errors.invalid(`${path}.runAsUserName`, user, message);
}

function windowsUser(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (control.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const domain = parts.length === 2 ? (parts[0] as string) : undefined;
  const user = parts[parts.length - 1] as string;
  const problems: string[] = [];
  if (domain !== undefined && domain.length >= 256)
    problems.push("runAsUserName's Domain length must be under 256 characters");
  if (domain !== undefined && !netBios.test(domain) && !windowsDomain.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === "") problems.push("runAsUserName's User cannot be empty");
  else if (user.length > 104)
    problems.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    problems.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  return problems;
}

const procMounts = ["Default", "Unmasked"];

export function checkSecurityContext(
  path: string,
  context: SecurityContext | undefined,
  hostUsers: boolean,
  errors: Errors,
): void {
  if (!context) return;
  const { runAsUser, runAsGroup, procMount } = context;
  if (runAsUser !== undefined) errors.messages(`${path}.runAsUser`, runAsUser, accountId(runAsUser));
  if (runAsGroup !== undefined) errors.messages(`${path}.runAsGroup`, runAsGroup, accountId(runAsGroup));
  if (procMount !== undefined) {
    if (!procMounts.includes(procMount)) errors.notSupported(`${path}.procMount`, procMount, procMounts);
    if (hostUsers && procMount === "Unmasked")
      errors.invalid(`${path}.procMount`, procMount, "`hostUsers` must be false to use `Unmasked`");
  }
  checkSeccomp(`${path}.seccompProfile`, context.seccompProfile, errors);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged)
      errors.invalid(
        path,
        context,
        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
      );
    for (const capability of context.capabilities?.add ?? [])
      if (capability === "CAP_SYS_ADMIN")
        errors.invalid(
          path,
          context,
          "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        );
  }
  checkWindows(`${path}.windowsOptions`, context.windowsOptions, errors);
  checkAppArmor(`${path}.appArmorProfile`, context.appArmorProfile, errors);
}

const sysctlPattern = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlExpression = new RegExp(`^${sysctlPattern}$`);
const ipcSysctls = /^(kernel\.(shmall|shmmax|shmmni|shm_rmid_forced|msgmax|msgmnb|msgmni|sem)$|fs\.mqueue\.)/;

export function refusedSysctl(name: string, spec: PodSpec): string | undefined {
  const dotted = name.replaceAll("/", ".");
  if (spec.hostNetwork && dotted.startsWith("net.")) return "may not be specified when 'hostNetwork' is true";
  if (spec.hostIPC && ipcSysctls.test(dotted)) return "may not be specified when 'hostIPC' is true";
  return undefined;
}

const policies = {
  fsGroupChangePolicy: ["Always", "OnRootMismatch"],
  supplementalGroupsPolicy: ["Merge", "Strict"],
  seLinuxChangePolicy: ["MountOption", "Recursive"],
} as const;

export function checkPodSecurityContext(
  path: string,
  spec: PodSpec,
  allowHostSysctls: boolean,
  errors: Errors,
): void {
  const context = spec.securityContext;
  if (!context) return;
  for (const field of ["fsGroup", "runAsUser", "runAsGroup"] as const) {
    const id = context[field];
    if (id !== undefined) errors.messages(`${path}.${field}`, id, accountId(id));
  }
  for (const [i, id] of (context.supplementalGroups ?? []).entries())
    errors.messages(`${path}.supplementalGroups[${i}]`, id, accountId(id));
  if (spec.shareProcessNamespace && spec.hostPID)
    errors.invalid(
      `${path}.shareProcessNamespace`,
      true,
      "ShareProcessNamespace and HostPID cannot both be enabled",
    );
  checkSysctls(`${path}.sysctls`, spec, allowHostSysctls, errors);
  checkPolicy("fsGroupChangePolicy");
  checkSeccomp(`${path}.seccompProfile`, context.seccompProfile, errors);
  checkWindows(`${path}.windowsOptions`, context.windowsOptions, errors);
  checkAppArmor(`${path}.appArmorProfile`, context.appArmorProfile, errors);
  checkPolicy("supplementalGroupsPolicy");
  checkPolicy("seLinuxChangePolicy");

  function checkPolicy(field: keyof typeof policies): void {
    const value = context?.[field];
    const supported: readonly string[] = policies[field];
    if (value !== undefined && !supported.includes(value))
      errors.notSupported(`${path}.${field}`, value, supported);
  }
}

function checkSysctls(path: string, spec: PodSpec, allowHost: boolean, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, { name }] of (spec.securityContext?.sysctls ?? []).entries()) {
    const at = `${path}[${i}].name`;
    if (!name) errors.required(at);
    else if (name.length > 253 || !sysctlExpression.test(name))
      errors.invalid(at, name, `must have at most 253 characters and match regex ^${sysctlPattern}$`);
    else if (names.has(name)) errors.duplicate(at, name);
    const refused = allowHost ? undefined : refusedSysctl(name, spec);
    if (refused) errors.invalid(at, name, refused);
    names.add(name);
  }
}
