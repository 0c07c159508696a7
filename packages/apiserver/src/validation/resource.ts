/** Rules of devices: what drivers offer in slices, what claims ask for. */
import { validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type {
  DeviceClaim,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceClaimTemplate,
  ResourcePool,
  ResourceSlice,
  ResourceSliceSpec,
  resourceV1,
} from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { positive } from "./checks/formats.ts";
import { checkImmutable, checking, checkingUpdate } from "./checks/strategies.ts";
import { checkNodeSelector } from "./core/scheduling.ts";
import { csiDriverName } from "./core/storage-names.ts";

function checkPool(pool: Partial<ResourcePool>, errors: Errors): void {
  const { name = "", resourceSliceCount = 0, generation = 0 } = pool;
  if (!name) errors.required("spec.pool.name");
  else {
    if (name.length > 253) errors.tooLong("spec.pool.name", 253);
    for (const part of name.split("/"))
      errors.messages("spec.pool.name", part, validateDns1123Subdomain(part));
  }
  if (resourceSliceCount <= 0) errors.invalid("spec.pool.resourceSliceCount", resourceSliceCount, positive);
  if (generation < 0)
    errors.invalid("spec.pool.generation", generation, "must be greater than or equal to zero");
}

const places = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/** Where the devices of a slice are: one of the ways to say it. */
function checkPlace(spec: ResourceSliceSpec, errors: Errors): void {
  const said: string[] = [];
  const { nodeName, nodeSelector } = spec;
  if (nodeName) {
    said.push("`nodeName`");
    errors.messages("spec.nodeName", nodeName, validateDns1123Subdomain(nodeName));
  } else if (nodeName !== undefined)
    errors.invalid("spec.nodeName", nodeName, "must be either unset or set to a non-empty string");
  if (nodeSelector) {
    said.push("`nodeSelector`");
    checkNodeSelector("spec.nodeSelector", nodeSelector, false, errors);
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1)
      errors.invalid(
        "spec.nodeSelector.nodeSelectorTerms",
        terms,
        "must have exactly one node selector term",
      );
  }
  for (const field of ["allNodes", "perDeviceNodeSelection"] as const) {
    if (spec[field]) said.push(`\`${field}\``);
    else if (spec[field] !== undefined)
      errors.invalid(`spec.${field}`, spec[field], "must be either unset or set to true");
  }
  if (said.length === 0) errors.required("spec", places);
  else if (said.length > 1)
    errors.invalid("spec", `{${said.join(", ")}}`, `${places}, but multiple fields are set`);
}

function checkSlice(slice: ResourceSlice, old: ResourceSlice | undefined, errors: Errors): void {
  const spec = (slice.spec ?? {}) as ResourceSliceSpec;
  csiDriverName("spec.driver", spec.driver, errors);
  checkPool(spec.pool ?? {}, errors);
  if (old) {
    checkImmutable("spec.pool.name", spec.pool?.name, old.spec?.pool?.name, errors);
    checkImmutable("spec.driver", spec.driver, old.spec?.driver, errors);
    checkImmutable("spec.nodeName", spec.nodeName, old.spec?.nodeName, errors);
  }
  checkPlace(spec, errors);
  const { devices = [], sharedCounters = [] } = spec;
  if (devices.length > 0 && sharedCounters.length > 0)
    errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed");
  if (devices.length > 128) errors.tooMany("spec.devices", devices.length, 128);
  const names = new Set<string>();
  for (const [i, { name = "" }] of devices.entries()) {
    const path = `spec.devices[${i}]`;
    errors.messages(`${path}.name`, name, validateDns1123Label(name));
    if (names.has(name)) errors.duplicate(path, name);
    names.add(name);
  }
}

export const resourceSlices: Strategy = {
  validate: checking<ResourceSlice>((slice, errors) => checkSlice(slice, undefined, errors)),
  validateUpdate: checkingUpdate<ResourceSlice>((slice, old, errors) => checkSlice(slice, old, errors)),
};

const modes = ["All", "ExactCount"];

function checkExact(path: string, request: ExactDeviceRequest, errors: Errors): void {
  const { deviceClassName = "", allocationMode = "", count = 0 } = request;
  if (!deviceClassName) errors.required(`${path}.deviceClassName`);
  else errors.messages(`${path}.deviceClassName`, deviceClassName, validateDns1123Subdomain(deviceClassName));
  for (const [i, { cel }] of (request.selectors ?? []).entries())
    if (!cel) errors.required(`${path}.selectors[${i}].cel`);
  if (!modes.includes(allocationMode)) errors.notSupported(`${path}.allocationMode`, allocationMode, modes);
  else if (allocationMode === "All" && count !== 0)
    errors.invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
  else if (allocationMode === "ExactCount" && count <= 0) errors.invalid(`${path}.count`, count, positive);
}

function checkRequest(path: string, request: DeviceRequest, errors: Errors): void {
  const { name = "", exactly, firstAvailable = [] } = request;
  const ways = "exactly one of `exactly` or `firstAvailable` is required";
  errors.messages(`${path}.name`, name, validateDns1123Label(name));
  if (exactly && firstAvailable.length > 0)
    errors.invalid(path, undefined, `${ways}, but multiple fields are set`);
  else if (exactly) checkExact(`${path}.exactly`, exactly, errors);
  else if (firstAvailable.length === 0) errors.required(path, ways);
  for (const [i, part] of (exactly ? [] : firstAvailable).entries()) {
    const at = `${path}.firstAvailable[${i}]`;
    errors.messages(`${at}.name`, part.name ?? "", validateDns1123Label(part.name ?? ""));
    checkExact(at, part, errors);
  }
}

function checkDevices(path: string, devices: DeviceClaim | undefined, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, request] of (devices?.requests ?? []).entries()) {
    const at = `${path}.requests[${i}]`;
    if (names.has(request.name)) errors.duplicate(at, request.name);
    names.add(request.name);
    checkRequest(at, request, errors);
  }
}

function withDefaults(devices: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable } of devices?.requests ?? [])
    for (const request of [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])]) {
      request.allocationMode ||= "ExactCount";
      if (request.allocationMode === "ExactCount") request.count ||= 1;
    }
}

export const resourceClaims: Strategy = {
  default: (draft) => withDefaults((draft as unknown as resourceV1.ResourceClaim).spec?.devices),
  validate: checking<resourceV1.ResourceClaim>(({ spec }, errors) =>
    checkDevices("spec.devices", spec?.devices, errors),
  ),
  validateUpdate: checkingUpdate<resourceV1.ResourceClaim>((now, old, errors) =>
    checkImmutable("spec", now.spec, old.spec, errors),
  ),
};

export const resourceClaimTemplates: Strategy = {
  default: (draft) => withDefaults((draft as unknown as ResourceClaimTemplate).spec?.spec?.devices),
  validate: checking<ResourceClaimTemplate>(({ spec }, errors) =>
    checkDevices("spec.spec.devices", spec?.spec?.devices, errors),
  ),
  validateUpdate: checkingUpdate<ResourceClaimTemplate>((now, old, errors) =>
    checkImmutable("spec", now.spec, old.spec, errors),
  ),
};
