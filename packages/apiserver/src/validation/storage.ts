/** Rules of storage classes, drivers, attachments and capacities. */
import {
  canonicalJson,
  deepEqual,
  Quantity,
  validateDns1123Subdomain,
  validateQualifiedName,
} from "@keelson/core";
import type {
  CSIDriver,
  CSIDriverSpec,
  CSINode,
  CSINodeDriver,
  CSIStorageCapacity,
  StorageClass,
  TopologySelectorTerm,
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeAttributesClass,
  VolumeError,
} from "@keelson/core/kinds";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { notNegative, rangeError } from "./checks/formats.ts";
import { checkLabelKey, checkSelector } from "./checks/selectors.ts";
import { checkImmutable, checking, checkingUpdate, checkNotNegative } from "./checks/strategies.ts";
import { checkVolumeSpec } from "./core/storage.ts";
import { csiDriverName } from "./core/storage-names.ts";
import { deprecatedNodeLabel } from "./core/warnings.ts";

// --------------------------------------------------------------------------------------------- classes

const mostParameters = 512;
const largestParameters = 256 * 1024;
const reclaimPolicies = ["Delete", "Retain"];
const bindingModes = ["Immediate", "WaitForFirstConsumer"];

function checkProvisioner(path: string, name: string | undefined, errors: Errors): void {
  if (!name) errors.required(path);
  else errors.messages(path, name.toLowerCase(), validateQualifiedName(name.toLowerCase()));
}

function checkParameters(parameters: Record<string, string>, mayBeEmpty: boolean, errors: Errors): void {
  const entries = Object.entries(parameters);
  if (entries.length > mostParameters) {
    errors.tooLong("parameters", mostParameters);
    return;
  }
  let size = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.invalid("parameters", key, "field can not be empty.");
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > largestParameters) errors.tooLong("parameters", largestParameters);
  if (!mayBeEmpty && entries.length === 0)
    errors.required("parameters", "must contain at least one key/value pair");
}

function checkTopologies(path: string, terms: readonly TopologySelectorTerm[], errors: Errors): void {
  // The real server compares with as many empty terms as there are terms, so an empty one repeats them all.
  const seen: string[] = terms.map(() => "{}");
  for (const [i, { matchLabelExpressions = [] }] of terms.entries()) {
    const at = `${path}[${i}].matchLabelExpressions`;
    const keys: Record<string, string[]> = {};
    for (const [j, { key, values: given }] of matchLabelExpressions.entries()) {
      const values = given ?? [];
      if (values.length === 0) errors.required(`${at}[${j}].values`);
      for (const [k, value] of values.entries())
        if (values.indexOf(value) < k) errors.duplicate(`${at}[${j}].values[${k}]`, value);
      checkLabelKey(`${at}[${j}].key`, key, errors);
      if (key in keys) errors.duplicate(`${at}[${j}].key`, key);
      keys[key] = [...new Set(values)].sort();
    }
    const text = canonicalJson(keys);
    for (const other of seen) if (other === text) errors.duplicate(at, "");
    seen.push(text);
  }
}

function checkClass(object: StorageClass, errors: Errors): void {
  checkProvisioner("provisioner", object.provisioner, errors);
  checkParameters(object.parameters ?? {}, true, errors);
  const { reclaimPolicy, volumeBindingMode: mode } = object;
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy))
    errors.notSupported("reclaimPolicy", reclaimPolicy, reclaimPolicies);
  if (mode === undefined) errors.required("volumeBindingMode");
  else if (!bindingModes.includes(mode)) errors.notSupported("volumeBindingMode", mode, bindingModes);
  checkTopologies("allowedTopologies", object.allowedTopologies ?? [], errors);
}

function classWarnings(object: ApiObject): string[] {
  return ((object as unknown as StorageClass).allowedTopologies ?? []).flatMap((term, i) =>
    (term.matchLabelExpressions ?? []).flatMap(({ key }, j) => {
      const message = deprecatedNodeLabel(key);
      return message ? [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${message}`] : [];
    }),
  );
}

export const storageClasses: Strategy = {
  validate: checking(checkClass),
  validateUpdate: checkingUpdate<StorageClass>((now, old, errors) => {
    checkClass(now, errors);
    checkImmutable("parameters", now.parameters ?? null, old.parameters ?? null, errors);
    checkImmutable("provisioner", now.provisioner, old.provisioner, errors);
    checkImmutable("reclaimPolicy", now.reclaimPolicy, old.reclaimPolicy, errors);
    checkImmutable("volumeBindingMode", now.volumeBindingMode, old.volumeBindingMode, errors);
  }),
  warningsOnCreate: classWarnings,
  warningsOnUpdate: classWarnings,
};

function checkAttributes({ driverName, parameters = {} }: VolumeAttributesClass, errors: Errors): void {
  checkProvisioner("driverName", driverName, errors);
  checkParameters(parameters, false, errors);
}

export const volumeAttributesClasses: Strategy = {
  validate: checking(checkAttributes),
  validateUpdate: checkingUpdate<VolumeAttributesClass>((now, old, errors) => {
    if (now.driverName !== old.driverName)
      errors.forbidden("driverName", "updates to driverName are forbidden.");
    if (!deepEqual(now.parameters ?? {}, old.parameters ?? {}))
      errors.forbidden("parameters", "updates to parameters are forbidden.");
    checkAttributes(now, errors);
  }),
};

// ----------------------------------------------------------------------------------------- attachments

function checkSource(path: string, source: VolumeAttachmentSource, errors: Errors): void {
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source;
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!inline && name === undefined) errors.required(path, one);
  else if (inline && name !== undefined) errors.forbidden(path, one);
  else if (inline)
    checkVolumeSpec(
      `${path}.inlineVolumeSpec`,
      inline,
      "",
      { inline: true, lenientNodeLabels: false },
      errors,
    );
  else if (name === "")
    errors.required(`${path}.persistentVolumeName`, "must specify non empty persistentVolumeName");
}

function checkVolumeError(path: string, error: VolumeError | undefined, errors: Errors): void {
  if ((error?.message ?? "").length > 1024) errors.tooLong(`${path}.message`, largestParameters);
  if ((error?.errorCode ?? 0) < 0)
    errors.invalid(`${path}.errorCode`, error?.errorCode, rangeError(0, 2147483647));
}

function checkAttachment({ spec, status }: VolumeAttachment, errors: Errors): void {
  csiDriverName("spec.attacher", spec?.attacher, errors);
  checkSource("spec.source", spec?.source ?? {}, errors);
  const node = spec?.nodeName ?? "";
  errors.messages("spec.nodeName", node, validateDns1123Subdomain(node));
  let size = 0;
  for (const [key, value] of Object.entries(status?.attachmentMetadata ?? {}))
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (size > largestParameters) errors.tooLong("status.attachmentMetadata", largestParameters);
  checkVolumeError("status.attachError", status?.attachError, errors);
  checkVolumeError("status.detachError", status?.detachError, errors);
  const volume = spec?.source?.persistentVolumeName;
  if (volume !== undefined)
    errors.messages("spec.source.persistentVolumeName", volume, validateDns1123Subdomain(volume));
}

const updatedAttachment = checkingUpdate<VolumeAttachment>((now, old, errors) => {
  checkAttachment(now, errors);
  checkImmutable("spec", now.spec, old.spec, errors);
});

export const volumeAttachments: Strategy = {
  prepareForCreate(draft) {
    (draft as unknown as VolumeAttachment).status = { attached: false };
  },
  validate: checking(checkAttachment),
  validateUpdate: updatedAttachment,
  subresources: { status: { validateUpdate: updatedAttachment } },
};

// --------------------------------------------------------------------------------------------- drivers

function checkNodeDriver(path: string, driver: CSINodeDriver, errors: Errors): void {
  csiDriverName(`${path}.name`, driver.name, errors);
  const { nodeID = "" } = driver;
  if (nodeID === "") errors.required(`${path}.nodeID`);
  if (nodeID.length > 256) errors.invalid(`${path}.nodeID`, nodeID, "must be 256 characters or less");
  checkNotNegative(`${path}.allocatable.count`, driver.allocatable?.count, errors);
}

function checkNode({ spec }: CSINode, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, driver] of (spec?.drivers ?? []).entries()) {
    const path = `spec.drivers[${i}]`;
    checkNodeDriver(path, driver, errors);
    if (names.has(driver.name)) errors.duplicate(`${path}.name`, driver.name);
    names.add(driver.name);
    const keys = new Set<string>();
    for (const key of driver.topologyKeys ?? []) {
      if (key === "") errors.required(path);
      if (keys.has(key)) errors.duplicate(path, key);
      keys.add(key);
      errors.messages(path, key, validateQualifiedName(key));
    }
  }
}

export const csiNodes: Strategy = {
  validate: checking(checkNode),
  validateUpdate: checkingUpdate<CSINode>((now, old, errors) => {
    checkNode(now, errors);
    const fixed = ({ allocatable: _, ...rest }: CSINodeDriver) => rest;
    for (const before of old.spec?.drivers ?? [])
      for (const after of now.spec?.drivers ?? [])
        if (before.name === after.name) checkImmutable("spec.drivers", fixed(after), fixed(before), errors);
  }),
};

const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];
const lifecycleModes = ["Persistent", "Ephemeral"];

function checkDriverSpec(spec: CSIDriverSpec, errors: Errors): void {
  if (spec.attachRequired === undefined) errors.required("spec.attachedRequired");
  if (spec.podInfoOnMount === undefined) errors.required("spec.podInfoOnMount");
  if (spec.storageCapacity === undefined) errors.required("spec.storageCapacity");
  const { fsGroupPolicy, tokenRequests = [], nodeAllocatableUpdatePeriodSeconds: period } = spec;
  if (fsGroupPolicy !== undefined && !groupPolicies.includes(fsGroupPolicy))
    errors.notSupported("spec.fsGroupPolicy", fsGroupPolicy, groupPolicies);
  const audiences = new Set<string>();
  for (const [i, { audience, expirationSeconds: seconds }] of tokenRequests.entries()) {
    const path = `spec.tokenRequests[${i}]`;
    if (audiences.has(audience)) {
      errors.duplicate(`${path}.audience`, audience);
      continue;
    }
    audiences.add(audience);
    if (seconds === undefined) continue;
    const at = `${path}.expirationSeconds`;
    if (seconds < 600) errors.invalid(at, seconds, "may not specify a duration less than 10 minutes");
    if (seconds > 2 ** 32) errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds");
  }
  for (const mode of spec.volumeLifecycleModes ?? [])
    if (!lifecycleModes.includes(mode))
      errors.notSupported("spec.volumeLifecycleModes", mode, lifecycleModes);
  if (spec.seLinuxMount === undefined) errors.required("spec.seLinuxMount");
  if (period !== undefined && period < 10)
    errors.invalid(
      "spec.nodeAllocatableUpdatePeriodSeconds",
      period,
      "must be greater than or equal to 10 seconds",
    );
  const { serviceAccountTokenInSecrets: inSecrets } = spec;
  if (inSecrets !== undefined && tokenRequests.length === 0)
    errors.invalid(
      "spec.serviceAccountTokenInSecrets",
      inSecrets,
      "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
    );
}

const tokensLeak =
  "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent " +
  "possible logging of tokens in volume attributes";
const leaks = (spec: CSIDriverSpec | undefined): boolean =>
  !!spec?.tokenRequests?.length && spec.serviceAccountTokenInSecrets === undefined;
const driverSpec = (object: ApiObject): CSIDriverSpec => (object as unknown as CSIDriver).spec ?? {};

export const csiDrivers: Strategy = {
  prepareForCreate(draft) {
    delete driverSpec(draft).preventPodSchedulingIfMissing;
  },
  prepareForUpdate(draft, old) {
    if (driverSpec(old).preventPodSchedulingIfMissing === undefined)
      delete driverSpec(draft).preventPodSchedulingIfMissing;
    // Unlike elsewhere, the count starts with the first change.
    if (!deepEqual(draft.spec, old.spec)) draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validate: checking<CSIDriver>(({ spec = {} }, errors) => checkDriverSpec(spec, errors)),
  validateUpdate: checkingUpdate<CSIDriver>(({ spec = {} }, { spec: old = {} }, errors) => {
    checkDriverSpec(spec, errors);
    checkImmutable("spec.attachedRequired", spec.attachRequired, old.attachRequired, errors);
    checkImmutable("spec.volumeLifecycleModes", spec.volumeLifecycleModes, old.volumeLifecycleModes, errors);
  }),
  warningsOnCreate: (object) => (leaks(driverSpec(object)) ? [tokensLeak] : []),
  warningsOnUpdate: (object, old) =>
    leaks(driverSpec(object)) && !deepEqual(driverSpec(object).tokenRequests, driverSpec(old).tokenRequests)
      ? [tokensLeak]
      : [],
};

// ------------------------------------------------------------------------------------------ capacities

function checkCapacity(object: CSIStorageCapacity, errors: Errors): void {
  checkSelector("nodeTopology", object.nodeTopology, errors);
  const { storageClassName = "", capacity } = object;
  errors.messages("storageClassName", storageClassName, validateDns1123Subdomain(storageClassName));
  if (capacity !== undefined && Quantity.from(capacity).sign() < 0)
    errors.invalid("capacity", String(capacity), notNegative);
}

function capacityWarnings(object: ApiObject): string[] {
  const { matchLabels = {}, matchExpressions = [] } =
    (object as unknown as CSIStorageCapacity).nodeTopology ?? {};
  const warn = (path: string, key: string) => {
    const message = deprecatedNodeLabel(key);
    return message ? [`${path}: ${key} is ${message}`] : [];
  };
  return [
    ...matchExpressions.flatMap(({ key }, i) => warn(`nodeTopology.matchExpressions[${i}].key`, key)),
    ...Object.keys(matchLabels).flatMap((key) => warn(`nodeTopology.matchLabels.${key}`, key)),
  ];
}

export const csiStorageCapacities: Strategy = {
  validate: checking(checkCapacity),
  validateUpdate: checkingUpdate<CSIStorageCapacity>((now, old, errors) => {
    checkCapacity(now, errors);
    checkImmutable("nodeTopology", now.nodeTopology, old.nodeTopology, errors);
    checkImmutable("storageClassName", now.storageClassName, old.storageClassName, errors);
  }),
  warningsOnCreate: capacityWarnings,
  warningsOnUpdate: capacityWarnings,
};
