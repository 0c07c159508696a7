/** Environment variables and the downward API. */
import { Quantity, validateDns1123Subdomain, validateQualifiedName } from "@keelson/core";
import type {
  EnvFromSource,
  EnvVar,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { configKey, environmentName, labelName, namePrefix } from "../checks/formats.ts";
import { checkNoBacksteps } from "./paths.ts";

const envFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const knownFields = new Set([
  ...envFields,
  ...volumeFields,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);
const resourceFields = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];

export function checkEnv(path: string, variables: readonly EnvVar[], errors: Errors): void {
  for (let i = 0; i < variables.length; i++) {
    const variable = variables[i] as EnvVar;
    if (!variable.name) errors.required(`${path}[${i}].name`);
    else errors.messages(`${path}[${i}].name`, variable.name, environmentName(variable.name));
    if (variable.valueFrom) checkValueFrom(`${path}[${i}].valueFrom`, variable, errors);
  }
}

function checkValueFrom(path: string, variable: EnvVar, errors: Errors): void {
  const source = variable.valueFrom;
  if (!source) return;
  let count = 0;
  if (source.fieldRef) {
    count++;
    checkFieldRef(`${path}.fieldRef`, source.fieldRef, envFields, errors);
  }
  if (source.resourceFieldRef) {
    count++;
    checkResourceFieldRef(`${path}.resourceFieldRef`, source.resourceFieldRef, false, errors);
  }
  if (source.configMapKeyRef) {
    count++;
    checkKeyRef(`${path}.configMapKeyRef`, source.configMapKeyRef, errors);
  }
  if (source.secretKeyRef) {
    count++;
    checkKeyRef(`${path}.secretKeyRef`, source.secretKeyRef, errors);
  }
  if (source.fileKeyRef) {
    count++;
    checkFileKeyRef(`${path}.fileKeyRef`, source.fileKeyRef, errors);
  }
  if (count === 0)
    errors.invalid(
      path,
      "",
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
    );
  else if (variable.value) errors.invalid(path, "", "may not be specified when `value` is not empty");
  else if (count > 1) errors.invalid(path, "", "may not have more than one field specified at a time");
}

function checkKeyRef(path: string, ref: { name?: string; key: string }, errors: Errors): void {
  const name = ref.name ?? "";
  errors.messages(`${path}.name`, name, validateDns1123Subdomain(name));
  if (!ref.key) errors.required(`${path}.key`);
  else errors.messages(`${path}.key`, ref.key, configKey(ref.key));
}

function checkFileKeyRef(path: string, ref: FileKeySelector, errors: Errors): void {
  if (!ref.key) errors.required(`${path}.key`);
  else errors.messages(`${path}.key`, ref.key, environmentName(ref.key));
  if (!ref.volumeName) errors.required(`${path}.volumeName`);
  else errors.messages(`${path}.volumeName`, ref.volumeName, labelName(ref.volumeName));
  if (!ref.path) errors.required(`${path}.path`);
  else checkNoBacksteps(`${path}.path`, ref.path, errors);
}

const subscripted = /^(.+)\['([^']*)'\]$/;

export function checkFieldRef(
  path: string,
  ref: ObjectFieldSelector,
  supported: readonly string[],
  errors: Errors,
): void {
  if (!ref.apiVersion) {
    errors.required(`${path}.apiVersion`);
    return;
  }
  if (!ref.fieldPath) {
    errors.required(`${path}.fieldPath`);
    return;
  }
  const at = `${path}.fieldPath`;
  const refuse = (why: string) => errors.invalid(at, ref.fieldPath, `error converting fieldPath: ${why}`);
  if (ref.apiVersion !== "v1") {
    refuse(`unsupported pod version: ${ref.apiVersion}`);
    return;
  }
  const match = subscripted.exec(ref.fieldPath);
  if (match) {
    const [, field = "", key = ""] = match;
    if (field === "metadata.annotations")
      errors.messages(path, key.toLowerCase(), validateQualifiedName(key.toLowerCase()));
    else if (field === "metadata.labels") errors.messages(path, key, validateQualifiedName(key));
    else refuse(`field label does not support subscript: ${ref.fieldPath}`);
    return;
  }
  const field = ref.fieldPath === "spec.host" ? "spec.nodeName" : ref.fieldPath;
  if (!knownFields.has(field)) refuse(`field label not supported: ${ref.fieldPath}`);
  else if (!supported.includes(field)) errors.notSupported(at, field, supported);
}

export function checkResourceFieldRef(
  path: string,
  ref: ResourceFieldSelector,
  inVolume: boolean,
  errors: Errors,
): void {
  const { resource = "" } = ref;
  const huge = resource.startsWith("requests.hugepages-") || resource.startsWith("limits.hugepages-");
  if (inVolume && !ref.containerName) errors.required(`${path}.containerName`);
  else if (!resource) errors.required(`${path}.resource`);
  else if (!resourceFields.includes(resource) && !huge)
    errors.notSupported(`${path}.resource`, resource, resourceFields);
  checkDivisor(`${path}.divisor`, resource, ref.divisor, errors);
}

const binaryAndDecimal = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
const sizes = new Set(binaryAndDecimal.split(", "));
const divided: readonly [match: RegExp, allowed: ReadonlySet<string>, message: string][] = [
  [
    /^(limits|requests)\.cpu$/,
    new Set(["1m", "1"]),
    "only divisor's values 1m and 1 are supported with the cpu resource",
  ],
  [
    /^(limits|requests)\.memory$/,
    sizes,
    `only divisor's values ${binaryAndDecimal} are supported with the memory resource`,
  ],
  [
    /^(limits|requests)\.ephemeral-storage$/,
    sizes,
    `only divisor's values ${binaryAndDecimal} are supported with the local ephemeral storage resource`,
  ],
  [
    /^(limits|requests)\.hugepages-/,
    sizes,
    `only divisor's values ${binaryAndDecimal} are supported with the hugepages resource`,
  ],
];

function checkDivisor(path: string, resource: string, divisor: string | number | undefined, errors: Errors) {
  if (divisor === undefined || Quantity.from(divisor).isZero()) return;
  for (const [match, allowed, message] of divided)
    if (match.test(resource) && !allowed.has(String(divisor))) errors.invalid(path, resource, message);
}

export function checkEnvFrom(path: string, sources: readonly EnvFromSource[], errors: Errors): void {
  for (const [i, source] of sources.entries()) {
    const at = `${path}[${i}]`;
    if (source.prefix) errors.messages(`${at}.prefix`, source.prefix, environmentName(source.prefix));
    let count = 0;
    for (const field of ["configMapRef", "secretRef"] as const) {
      const ref = source[field];
      if (!ref) continue;
      count++;
      if (!ref.name) errors.required(`${at}.${field}.name`);
      else errors.messages(`${at}.${field}.name`, ref.name, namePrefix(ref.name, validateDns1123Subdomain));
    }
    if (count === 0) errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    else if (count > 1) errors.invalid(path, "", "may not have more than one field specified at a time");
  }
}
