/** What kubelets and schedulers may write into the status of a pod. */
import { validateDns1123Label, validateDns1123Subdomain, validateQualifiedName } from "@keelson/core";
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from "@keelson/core/kinds";
import { checkAddress, parseAddress } from "../checks/addresses.ts";
import type { Errors } from "../checks/errors.ts";
import { accountId, immutable } from "../checks/formats.ts";

const systemConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

export function checkPodStatus(pod: Pod, old: Pod, errors: Errors): void {
  const status: PodStatus = pod.status ?? {};
  const before: PodStatus = old.status ?? {};
  const spec = pod.spec as PodSpec;
  for (const [i, condition] of (status.conditions ?? []).entries()) {
    if ((condition.observedGeneration ?? 0) < 0)
      errors.invalid(
        `status.conditions[${i}].observedGeneration`,
        condition.observedGeneration,
        "must be a non-negative integer",
      );
    if (!systemConditions.has(condition.type))
      errors.messages(`status.conditions[${i}].Type`, condition.type, validateQualifiedName(condition.type));
  }
  checkNominated(status, before, spec, errors);
  if ((status.observedGeneration ?? 0) < 0)
    errors.invalid("status.observedGeneration", status.observedGeneration, "must be a non-negative integer");
  if ((status.qosClass ?? "") !== (before.qosClass ?? ""))
    errors.invalid("status.qosClass", status.qosClass ?? "", immutable);
  checkTransitions("containerStatuses", spec.containers ?? [], status, before, spec, errors);
  checkTransitions("initContainerStatuses", spec.initContainers ?? [], status, before, spec, errors);
  checkTransitions("ephemeralContainerStatuses", undefined, status, before, spec, errors);
  checkClaimStatuses(status, spec, errors);
  checkAddresses("podIPs", status, before, errors);
  const { hostIPs = [] } = status;
  if (hostIPs.length > 0) {
    if (status.hostIP !== hostIPs[0]?.ip)
      errors.invalid("status.hostIPs[0].ip", hostIPs[0]?.ip, "must be equal to `hostIP`");
    checkAddresses("hostIPs", status, before, errors);
  }
  for (const field of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const)
    checkUsers(`status.${field}`, status[field] ?? [], spec, errors);
}

function checkNominated(status: PodStatus, before: PodStatus, spec: PodSpec, errors: Errors): void {
  const node = status.nominatedNodeName ?? "";
  if (!node || node === (before.nominatedNodeName ?? "")) return;
  errors.messages("status.nominatedNodeName", node, validateDns1123Subdomain(node));
  if (spec.nodeName)
    errors.forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node");
}

type StatusList = "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses";

/** A container that has ended for good stays ended. `containers` is absent where none restarts. */
function checkTransitions(
  field: StatusList,
  containers: readonly Container[] | undefined,
  status: PodStatus,
  before: PodStatus,
  spec: PodSpec,
  errors: Errors,
): void {
  if (containers && restartsAll(spec)) return;
  for (const [i, old] of (before[field] ?? []).entries()) {
    const ended = old.state?.terminated;
    if (!ended) continue;
    const now = (status[field] ?? []).find(({ name }) => name === old.name);
    if (!now || now.state?.terminated) continue;
    const container = containers?.find(({ name }) => name === old.name);
    if (container && shouldRestart(container, spec, ended.exitCode)) continue;
    errors.forbidden(`status.${field}[${i}].state`, "may not be transitioned to non-terminated state");
  }
}

function restartsAll(spec: PodSpec): boolean {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
}

function shouldRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
      const listed = exitCodes?.values?.includes(exitCode) ?? false;
      if (exitCodes && listed === (exitCodes.operator === "In") && action === "Restart") return true;
    }
  }
  const policy = container.restartPolicy ?? spec.restartPolicy;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function checkClaimStatuses(status: PodStatus, spec: PodSpec, errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { name, resourceClaimName }] of (status.resourceClaimStatuses ?? []).entries()) {
    const at = `status.resourceClaimStatuses[${i}]`;
    if (!spec.resourceClaims?.some((claim) => claim.name === name))
      errors.invalid(`${at}.name`, name, "must match the name of an entry in `spec.resourceClaims`");
    if (seen.has(name)) errors.duplicate(`${at}.name`, name);
    seen.add(name);
    if (resourceClaimName !== undefined)
      errors.messages(
        `${at}.resourceClaimName`,
        resourceClaimName,
        validateDns1123Subdomain(resourceClaimName),
      );
  }
  const extended = status.extendedResourceClaimStatus;
  if (!extended) return;
  const path = "status.extendedResourceClaimStatus";
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  if (!extended.requestMappings?.length)
    errors.required(`${path}.requestMappings`, "at least one request mapping is required");
  for (const [i, mapping] of (extended.requestMappings ?? []).entries()) {
    const at = `${path}.requestMappings[${i}]`;
    const container = containers.find(({ name }) => name === mapping.containerName);
    if (!container)
      errors.invalid(
        `${at}.containerName`,
        mapping.containerName,
        "must match the name of an entry in spec.initContainers.name or spec.containers.name",
      );
    else if (container.resources?.requests?.[mapping.resourceName] === undefined)
      errors.invalid(
        `${at}.resourceName`,
        mapping.resourceName,
        "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
      );
    errors.messages(`${path}.requestName`, mapping.requestName, validateDns1123Label(mapping.requestName));
  }
  if (!extended.resourceClaimName) errors.required(`${path}.resourceClaimName`);
  else
    errors.messages(
      `${path}.resourceClaimName`,
      extended.resourceClaimName,
      validateDns1123Subdomain(extended.resourceClaimName),
    );
}

function checkAddresses(
  field: "podIPs" | "hostIPs",
  status: PodStatus,
  before: PodStatus,
  errors: Errors,
): void {
  const list = (status[field] ?? []).map(({ ip }) => ip);
  const known = (before[field] ?? []).map(({ ip }) => ip);
  for (const [i, ip] of list.entries()) checkAddress(`status.${field}[${i}]`, ip, errors, known);
  if (list.length < 2) return;
  const families = new Set(list.map((ip) => parseAddress(ip)?.family));
  if (families.has(undefined))
    errors.internal(
      `status.${field}`,
      `failed to check for dual stack with error:invalid IP: ${list.join(" ")}`,
    );
  if (families.size !== 2 || list.length > 2)
    errors.invalid(`status.${field}`, status[field], "may specify no more than one IP for each IP family");
}

function checkUsers(path: string, statuses: readonly ContainerStatus[], spec: PodSpec, errors: Errors): void {
  for (const [i, { user }] of statuses.entries()) {
    const linux = user?.linux;
    if (!linux) continue;
    const at = `${path}[${i}].user.linux`;
    if (spec.os?.name === "windows") {
      errors.forbidden(at, "cannot be set for a windows pod");
      continue;
    }
    errors.messages(`${at}.uid`, linux.uid, accountId(linux.uid));
    errors.messages(`${at}.gid`, linux.gid, accountId(linux.gid));
    for (const [j, id] of (linux.supplementalGroups ?? []).entries())
      errors.messages(`${at}.supplementalGroups[${j}]`, id, accountId(id));
  }
}
