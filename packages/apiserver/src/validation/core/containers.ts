/** Containers of a pod: regular, init and ephemeral. */
import { validateDns1123Label } from "@keelson/core";
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  PodSpec,
  Volume,
  VolumeDevice,
  VolumeMount,
} from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { portName, portNumber } from "../checks/formats.ts";
import { checkEnv, checkEnvFrom } from "./env.ts";
import { checkDescending } from "./paths.ts";
import { checkLifecycle, checkProbes } from "./probes.ts";
import { checkRequirements } from "./resources.ts";
import { checkSecurityContext } from "./security-context.ts";
import { checkPullPolicy } from "./volumes.ts";

/** What containers of one pod are checked against. */
export interface ContainerScope {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly hostUsers: boolean;
  readonly allowIndivisible: boolean;
  /** Init containers that restart on resize were accepted before. */
  readonly allowRestartOnResize: boolean;
}

const none: readonly never[] = [];
const protocols = ["SCTP", "TCP", "UDP"];

function checkPorts(path: string, ports: readonly ContainerPort[], errors: Errors): void {
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const at = `${path}[${i}]`;
    if (port.name) {
      const problems = portName(port.name);
      if (problems.length > 0) errors.messages(`${at}.name`, port.name, problems);
      else if (names.has(port.name)) errors.duplicate(`${at}.name`, port.name);
      else names.add(port.name);
    }
    if (!port.containerPort) errors.required(`${at}.containerPort`);
    else errors.messages(`${at}.containerPort`, port.containerPort, portNumber(port.containerPort));
    if (port.hostPort) errors.messages(`${at}.hostPort`, port.hostPort, portNumber(port.hostPort));
    if (!port.protocol) errors.required(`${at}.protocol`);
    else if (!protocols.includes(port.protocol))
      errors.notSupported(`${at}.protocol`, port.protocol, protocols);
  }
}

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursive = ["Disabled", "Enabled", "IfPossible"];

function checkMounts(path: string, container: Container, scope: ContainerScope, errors: Errors): void {
  const points = new Set<string>();
  const devices = container.volumeDevices ?? none;
  for (const [i, mount] of (container.volumeMounts as VolumeMount[]).entries()) {
    const at = `${path}[${i}]`;
    if (!mount.name) errors.required(`${at}.name`);
    if (!scope.volumes.has(mount.name)) errors.notFound(`${at}.name`, mount.name);
    if (!mount.mountPath) errors.required(`${at}.mountPath`);
    if (points.has(mount.mountPath)) errors.invalid(`${at}.mountPath`, mount.mountPath, "must be unique");
    points.add(mount.mountPath);
    if (devices.some(({ name }) => name === mount.name))
      errors.invalid(`${at}.name`, mount.name, "must not already exist in volumeDevices");
    if (devices.some(({ devicePath }) => devicePath === mount.mountPath))
      errors.invalid(`${at}.mountPath`, mount.mountPath, "must not already exist as a path in volumeDevices");
    if (mount.subPath) checkDescending(`${path}.subPath`, mount.subPath, errors);
    if (mount.subPathExpr) {
      if (mount.subPath)
        errors.invalid(
          `${at}.subPathExpr`,
          mount.subPathExpr,
          "subPathExpr and subPath are mutually exclusive",
        );
      checkDescending(`${path}.subPathExpr`, mount.subPathExpr, errors);
    }
    checkPropagation(path, mount, container, errors);
  }
}

function checkPropagation(path: string, mount: VolumeMount, container: Container, errors: Errors): void {
  const { mountPropagation: propagation, recursiveReadOnly: readOnly } = mount;
  if (propagation !== undefined) {
    const at = `${path}.mountPropagation`;
    if (!propagations.includes(propagation)) errors.notSupported(at, propagation, propagations);
    if (propagation === "Bidirectional" && !container.securityContext?.privileged)
      errors.forbidden(at, "Bidirectional mount propagation is available only to privileged containers");
  }
  if (readOnly === undefined || readOnly === "Disabled") return;
  const at = `${path}.recursiveReadOnly`;
  if (!recursive.includes(readOnly)) errors.notSupported(at, readOnly, recursive);
  else {
    if (!mount.readOnly) errors.forbidden(at, "may only be specified when readOnly is true");
    if (propagation !== undefined && propagation !== "None")
      errors.forbidden(at, "may only be specified when mountPropagation is None or not specified");
  }
}

function checkDevices(path: string, container: Container, scope: ContainerScope, errors: Errors): void {
  const paths = new Set<string>();
  const names = new Set<string>();
  const mounts = container.volumeMounts ?? none;
  for (const [i, { name, devicePath }] of (container.volumeDevices as VolumeDevice[]).entries()) {
    const at = `${path}[${i}]`;
    const volume = scope.volumes.get(name);
    if (!name) errors.required(`${at}.name`);
    if (names.has(name)) errors.invalid(`${at}.name`, name, "must be unique");
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral)
      errors.invalid(
        `${at}.name`,
        name,
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
      );
    if (!volume) errors.notFound(`${at}.name`, name);
    if (!devicePath) errors.required(`${at}.devicePath`);
    if (paths.has(devicePath)) errors.invalid(`${at}.devicePath`, devicePath, "must be unique");
    if (devicePath.split("/").includes(".."))
      errors.invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mounts.some((mount) => mount.name === name))
      errors.invalid(`${at}.name`, name, "must not already exist in volumeMounts");
    if (mounts.some((mount) => mount.mountPath === devicePath))
      errors.invalid(`${at}.devicePath`, devicePath, "must not already exist as a path in volumeMounts");
    if (name) names.add(name);
  }
}

const resizeResources = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];

function checkResizePolicy(path: string, container: Container, restartPolicy: string, errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { resourceName, restartPolicy: policy }] of (container.resizePolicy ?? []).entries()) {
    if (seen.has(resourceName)) errors.duplicate(`${path}[${i}]`, resourceName);
    seen.add(resourceName);
    if (!resourceName) errors.required(path);
    else if (!resizeResources.includes(resourceName))
      errors.notSupported(path, resourceName, resizeResources);
    if (!policy) errors.required(path);
    else if (!resizePolicies.includes(policy)) errors.notSupported(path, policy, resizePolicies);
    if (restartPolicy === "Never" && policy !== "NotRequired")
      errors.invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

const messagePolicies = ["File", "FallbackToLogsOnError"];

function checkCommon(path: string, container: Container, scope: ContainerScope, errors: Errors): void {
  if (!container.name) errors.required(`${path}.name`);
  else errors.messages(`${path}.name`, container.name, validateDns1123Label(container.name));
  if (!container.image) errors.required(`${path}.image`);
  const policy = container.terminationMessagePolicy;
  if (!policy) errors.required(`${path}.terminationMessagePolicy`);
  else if (!messagePolicies.includes(policy))
    errors.notSupported(`${path}.terminationMessagePolicy`, policy, messagePolicies);
  if (container.ports) checkPorts(`${path}.ports`, container.ports, errors);
  if (container.env) checkEnv(`${path}.env`, container.env, errors);
  if (container.envFrom) checkEnvFrom(`${path}.envFrom`, container.envFrom, errors);
  if (container.volumeMounts) checkMounts(`${path}.volumeMounts`, container, scope, errors);
  if (container.volumeDevices) checkDevices(`${path}.volumeDevices`, container, scope, errors);
  checkPullPolicy(`${path}.imagePullPolicy`, container.imagePullPolicy, errors);
  checkRequirements(`${path}.resources`, container.resources, scope.claims, errors, {
    allowIndivisible: scope.allowIndivisible,
  });
  if (container.resizePolicy)
    checkResizePolicy(`${path}.resizePolicy`, container, scope.spec.restartPolicy ?? "", errors);
  checkSecurityContext(`${path}.securityContext`, container.securityContext, scope.hostUsers, errors);
}

const restartPolicies = ["Always", "Never", "OnFailure"];
const restartActions = ["Restart", "RestartAllContainers"];
const exitCodeOperators = ["In", "NotIn"];

function checkRestartPolicy(path: string, container: Container, errors: Errors): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (restartPolicy === undefined) {
    if (rules.length === 0) return;
    errors.required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  } else if (!restartPolicies.includes(restartPolicy))
    errors.notSupported(`${path}.restartPolicy`, restartPolicy, restartPolicies);
  if (rules.length > 20) errors.tooMany(`${path}.restartPolicyRules`, rules.length, 20);
  for (const [i, { action, exitCodes }] of rules.entries()) {
    const at = `${path}.restartPolicyRules[${i}]`;
    if (!restartActions.includes(action)) errors.notSupported(`${at}.action`, action, restartActions);
    if (!exitCodes) {
      errors.required(`${at}.exitCodes`, "must be specified");
      continue;
    }
    if (!exitCodeOperators.includes(exitCodes.operator))
      errors.notSupported(`${at}.exitCodes.operator`, exitCodes.operator, exitCodeOperators);
    const values = exitCodes.values ?? [];
    if (values.length > 255) errors.tooMany(`${at}.exitCodes.values`, values.length, 255);
  }
}

function checkHostPorts(path: string, containers: readonly Container[], errors: Errors): void {
  let taken: Set<string> | undefined;
  for (const [i, { ports }] of containers.entries())
    for (const [j, { hostPort, protocol, hostIP }] of (
      ports ?? (none as readonly ContainerPort[])
    ).entries()) {
      if (!hostPort) continue;
      taken ??= new Set();
      const key = `${protocol}/${hostIP ?? ""}/${hostPort}`;
      if (taken.has(key)) errors.duplicate(`${path}[${i}].ports[${j}].hostPort`, key);
      taken.add(key);
    }
}

export function checkContainers(path: string, scope: ContainerScope, errors: Errors): void {
  const { spec } = scope;
  const containers = spec.containers ?? [];
  if (containers.length === 0) {
    errors.required(path);
    return;
  }
  const names = new Set<string>();
  const grace = spec.terminationGracePeriodSeconds;
  for (let i = 0; i < containers.length; i++) {
    const container = containers[i] as Container;
    const at = `${path}[${i}]`;
    checkCommon(at, container, scope, errors);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    else names.add(container.name);
    if (container.lifecycle) checkLifecycle(`${at}.lifecycle`, container.lifecycle, grace, spec.os, errors);
    checkProbes(at, container, grace, errors);
    checkRestartPolicy(at, container, errors);
  }
  checkHostPorts(path, containers, errors);
}

const initOnly = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;

export function checkInitContainers(path: string, scope: ContainerScope, errors: Errors): void {
  const { spec } = scope;
  const grace = spec.terminationGracePeriodSeconds;
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    const at = `${path}[${i}]`;
    checkCommon(at, container, scope, errors);
    if (container.restartPolicy === undefined) {
      if (container.restartPolicyRules?.length)
        errors.required(`${at}.restartPolicy`, "must specify restartPolicy when restart rules are used");
    } else checkRestartPolicy(at, container, errors);
    const sidecar = container.restartPolicy === "Always";
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    else if (container.name) names.add(container.name);
    checkHostPorts(path, [container], errors);
    if (sidecar) {
      if (container.lifecycle) checkLifecycle(`${at}.lifecycle`, container.lifecycle, grace, spec.os, errors);
      checkProbes(at, container, grace, errors);
    } else
      for (const field of initOnly)
        if (container[field])
          errors.forbidden(
            `${at}.${field}`,
            "may not be set for init containers without restartPolicy=Always",
          );
    if (sidecar || scope.allowRestartOnResize) continue;
    for (const [j, { restartPolicy }] of (container.resizePolicy ?? []).entries())
      if (restartPolicy === "RestartContainer")
        errors.invalid(
          `${at}.resizePolicy[${j}].restartPolicy`,
          restartPolicy,
          "must not be set to 'RestartContainer' for non-sidecar initContainers",
        );
  }
}

const ephemeralFields = new Set([
  "name",
  "image",
  "command",
  "args",
  "workingDir",
  "envFrom",
  "env",
  "volumeMounts",
  "volumeDevices",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "imagePullPolicy",
  "securityContext",
  "stdin",
  "stdinOnce",
  "tty",
  "targetContainerName",
]);

export function checkEphemeralContainers(path: string, scope: ContainerScope, errors: Errors): void {
  const { spec } = scope;
  if (!spec.ephemeralContainers?.length) return;
  const others = new Set(
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(others);
  for (const [i, container] of spec.ephemeralContainers.entries()) {
    const at = `${path}[${i}]`;
    checkCommon(at, container as Container, scope, errors);
    checkImagePadding(at, container as Container, errors);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    else names.add(container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) errors.notFound(`${at}.targetContainerName`, target);
    checkEphemeralFields(at, container, errors);
  }
}

function checkEphemeralFields(path: string, container: EphemeralContainer, errors: Errors): void {
  const refuse = "cannot be set for an Ephemeral Container";
  for (const [field, value] of Object.entries(container)) {
    if (ephemeralFields.has(field)) continue;
    if (field === "resources" && Object.keys(value as object).length === 0) continue;
    errors.forbidden(`${path}.${field}`, refuse);
  }
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    if (mount.subPath) errors.forbidden(`${path}.volumeMounts[${i}].subPath`, refuse);
    if (mount.subPathExpr) errors.forbidden(`${path}.volumeMounts[${i}].subPathExpr`, refuse);
  }
}

/** Images in templates may be padded; those of pods not. */
export function checkImagePadding(path: string, { image = "" }: Container, errors: Errors): void {
  if (image.trim() !== image)
    errors.invalid(`${path}.image`, image, "must not have leading or trailing whitespace");
}
