/** Persistent volumes and claims. */
import {
  deepEqual,
  formatTime,
  parseJson,
  Quantity,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { immutable, positive } from "../checks/formats.ts";
import { checkImmutable, checking, checkingUpdate } from "../checks/strategies.ts";
import { checkAccessModes, checkClaimSpec, volumeModes } from "./claim-spec.ts";
import { checkNoBacksteps } from "./paths.ts";
import { isNative } from "./resources.ts";
import { checkNodeSelector, hasInvalidNodeLabelValue } from "./scheduling.ts";
import { csiDriverName } from "./storage-names.ts";
import {
  checkAzureDisk,
  checkCinder,
  checkFc,
  checkFlex,
  checkFlocker,
  checkHostPath,
  checkIscsiSource,
  checkNfs,
  checkPartitionedDisk,
  checkQuobyte,
  checkStorageOs,
  needs,
} from "./volumes.ts";
import { claimSpecWarnings, termWarnings } from "./warnings.ts";

type Check = (source: never, path: string, errors: Errors, name: string) => void;

function checkSecretReference(
  path: string,
  ref: { name?: string; namespace?: string } | undefined,
  errors: Errors,
) {
  if (!ref) return;
  if (!ref.name) errors.required(`${path}.name`);
  else errors.messages(`${path}.name`, ref.name, validateDns1123Subdomain(ref.name));
  if (!ref.namespace) errors.required(`${path}.namespace`);
  else errors.messages(`${path}.namespace`, ref.namespace, validateDns1123Label(ref.namespace));
}

const checkCsi: Check = (source: NonNullable<PersistentVolumeSpec["csi"]>, path, errors) => {
  csiDriverName(`${path}.driver`, source.driver, errors);
  if (!source.volumeHandle) errors.required(`${path}.volumeHandle`);
  for (const field of [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ] as const)
    checkSecretReference(`${path}.${field}`, source[field], errors);
};

const checkGlusterfs: Check = (
  source: { endpoints: string; path: string; endpointsNamespace?: string },
  path,
  errors,
) => {
  needs("endpoints", "path")(source as never, path, errors);
  const namespace = source.endpointsNamespace;
  if (namespace === undefined) return;
  const at = `${path}.endpointsNamespace`;
  if (namespace === "")
    errors.invalid(at, "", "if the endpointnamespace is set, it must be a valid namespace name");
  else errors.messages(at, namespace, validateDns1123Label(namespace));
};

const sources: readonly {
  field: keyof PersistentVolumeSpec;
  check: Check;
  path?: string;
  duplicate?: string;
}[] = [
  { field: "hostPath", check: checkHostPath },
  { field: "gcePersistentDisk", check: checkPartitionedDisk("pdName"), path: "persistentDisk" },
  { field: "awsElasticBlockStore", check: checkPartitionedDisk("volumeID") },
  { field: "glusterfs", check: checkGlusterfs },
  { field: "flocker", check: checkFlocker },
  { field: "nfs", check: checkNfs },
  { field: "rbd", check: needs("monitors", "image") },
  { field: "quobyte", check: checkQuobyte },
  { field: "cephfs", check: needs("monitors"), duplicate: "cephFS" },
  {
    field: "iscsi",
    check: (source: Parameters<typeof checkIscsiSource>[1], path, errors, name) =>
      checkIscsiSource(path, source, errors, "must be valid format", name),
  },
  { field: "cinder", check: checkCinder(true) },
  { field: "fc", check: checkFc },
  { field: "flexVolume", check: checkFlex },
  {
    field: "azureFile",
    check: (source: { secretNamespace?: string }, path, errors) => {
      needs("secretName", "shareName")(source as never, path, errors);
      if (source.secretNamespace === "") errors.required(`${path}.secretNamespace`);
    },
  },
  { field: "vsphereVolume", check: needs("volumePath") },
  { field: "photonPersistentDisk", check: needs("pdID") },
  { field: "portworxVolume", check: needs("volumeID") },
  { field: "azureDisk", check: checkAzureDisk },
  { field: "scaleIO", check: needs("gateway", "system", "volumeName") },
  {
    field: "local",
    check: (source: { path: string }, path, errors) => {
      if (!source.path) errors.required(`${path}.path`);
      else checkNoBacksteps(`${path}.path`, source.path, errors);
    },
  },
  { field: "storageos", check: checkStorageOs(true) },
  { field: "csi", check: checkCsi },
];

const sourceFields = new Set<string>(sources.map(({ field }) => field));
const reclaimPolicies = ["Delete", "Recycle", "Retain"];

export interface VolumeSpecRules {
  /** The spec stands inside a volume attachment. */
  readonly inline: boolean;
  readonly lenientNodeLabels: boolean;
}

export function checkVolumeSpec(
  path: string,
  spec: PersistentVolumeSpec,
  name: string,
  { inline, lenientNodeLabels }: VolumeSpecRules,
  errors: Errors,
): void {
  const refused = "may not be specified in the context of inline volumes";
  if (inline) {
    if (spec.claimRef) errors.forbidden(`${path}.claimRef`, refused);
    if (spec.capacity) errors.forbidden(`${path}.capacity`, refused);
    if (!spec.csi) errors.required(`${path}.csi`, "has to be specified in the context of inline volumes");
  }
  if (!spec.accessModes?.length) errors.required(`${path}.accessModes`);
  checkAccessModes(`${path}.accessModes`, spec.accessModes ?? [], errors);
  if (!inline) checkCapacity(`${path}.capacity`, spec.capacity ?? {}, errors);
  const policy = spec.persistentVolumeReclaimPolicy;
  if (policy) {
    const at = `${path}.persistentVolumeReclaimPolicy`;
    if (inline) {
      if (policy !== "Retain") errors.forbidden(at, "may only be Retain in the context of inline volumes");
    } else if (!reclaimPolicies.includes(policy)) errors.notSupported(at, policy, reclaimPolicies);
  }
  if (spec.nodeAffinity) {
    if (inline) errors.forbidden(`${path}.nodeAffinity`, refused);
    else if (spec.nodeAffinity.required)
      checkNodeSelector(
        `${path}.nodeAffinity.required`,
        spec.nodeAffinity.required,
        lenientNodeLabels,
        errors,
      );
    else errors.required(`${path}.nodeAffinity.required`, "must specify required node constraints");
  }
  checkSources(path, spec, name, errors);
  if (policy === "Recycle" && spec.hostPath && /^\/+$/.test(spec.hostPath.path))
    errors.forbidden(
      `${path}.persistentVolumeReclaimPolicy`,
      "may not be 'recycle' for a hostPath mount of '/'",
    );
  if (spec.storageClassName) {
    if (inline) errors.forbidden(`${path}.storageClassName`, refused);
    else
      errors.messages(
        `${path}.storageClassName`,
        spec.storageClassName,
        validateDns1123Subdomain(spec.storageClassName),
      );
  }
  const mode = spec.volumeMode;
  if (mode !== undefined) {
    if (inline) {
      if (mode !== "Filesystem")
        errors.forbidden(
          `${path}.volumeMode`,
          "may not specify volumeMode other than Filesystem in the context of inline volumes",
        );
    } else if (!volumeModes.includes(mode)) errors.notSupported(`${path}.volumeMode`, mode, volumeModes);
  }
  const attributes = spec.volumeAttributesClassName;
  if (attributes === undefined) return;
  const at = `${path}.volumeAttributesClassName`;
  if (attributes === "") errors.required(at, "an empty string is disallowed");
  else errors.messages(at, attributes, validateDns1123Subdomain(attributes));
  if (!spec.csi) errors.required(`${path}.csi`, "has to be specified when using volumeAttributesClassName");
}

function checkCapacity(
  path: string,
  capacity: Readonly<Record<string, string | number>>,
  errors: Errors,
): void {
  const names = Object.keys(capacity);
  if (names.length === 0) errors.required(path);
  if (capacity.storage === undefined || names.length > 1)
    errors.notSupported(path, names.length === 0 ? null : capacity, ["storage"]);
  for (const name of names) {
    const amount = Quantity.from(capacity[name] as string);
    if (amount.value() < 0n)
      errors.invalid(`${path}[${name}]`, Number(amount.value()), "must be a valid resource quantity");
    if (amount.sign() <= 0) errors.invalid(`${path}[${name}]`, amount.toString(), positive);
  }
}

function checkSources(path: string, spec: PersistentVolumeSpec, name: string, errors: Errors): void {
  let count = 0;
  for (const { field, check, path: at = field, duplicate = field } of sources) {
    const source = spec[field];
    if (source === undefined) continue;
    if (count > 0 && field !== "flexVolume")
      errors.forbidden(`${path}.${duplicate}`, "may not specify more than 1 volume type");
    else {
      check(source as never, `${path}.${at}`, errors, name);
      if (field === "local" && !spec.nodeAffinity)
        errors.required(`${path}.nodeAffinity`, "Local volume requires node affinity");
    }
    count++;
  }
  if (count === 0) errors.required(path, "must specify a volume type");
}

function sourcesOf(spec: PersistentVolumeSpec): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => sourceFields.has(field)));
}

const betaLabels: Readonly<Record<string, string>> = lookupTable({
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "beta.kubernetes.io/os": "kubernetes.io/os",
  "beta.kubernetes.io/arch": "kubernetes.io/arch",
  "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
});

/** Node affinity with the old names of labels replaced where the new affinity has done so. */
function sameAffinity(now: unknown, old: unknown): boolean {
  if (deepEqual(now, old)) return true;
  const text = JSON.stringify(old ?? null).replaceAll(/"key":"([^"]+)"/g, (whole, key: string) =>
    betaLabels[key] ? `"key":"${betaLabels[key]}"` : whole,
  );
  return deepEqual(now, parseJson(text));
}

const volumeOf = (object: ApiObject) => object as unknown as PersistentVolume;

export const persistentVolumes: Strategy = {
  prepareForCreate(draft, { clock }) {
    volumeOf(draft).status = { phase: "Pending", lastPhaseTransitionTime: formatTime(clock.now()) };
  },
  validate: checking<PersistentVolume>((volume, errors) =>
    checkVolumeSpec(
      "spec",
      volume.spec as PersistentVolumeSpec,
      volume.metadata?.name ?? "",
      { inline: false, lenientNodeLabels: false },
      errors,
    ),
  ),
  validateUpdate: checkingUpdate<PersistentVolume>((volume, old, errors) => {
    const spec = volume.spec as PersistentVolumeSpec;
    const before = old.spec as PersistentVolumeSpec;
    const terms = before.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const rules = { inline: false, lenientNodeLabels: hasInvalidNodeLabelValue(terms) };
    const name = volume.metadata?.name ?? "";
    // The real server looks twice, and says everything twice.
    checkVolumeSpec("spec", spec, name, rules, errors);
    checkVolumeSpec("spec", spec, name, rules, errors);
    const now = sourcesOf(spec);
    if (before.csi && !before.csi.controllerExpandSecretRef && spec.csi?.controllerExpandSecretRef) {
      const { controllerExpandSecretRef: _, ...csi } = spec.csi;
      now.csi = csi;
    }
    if (!deepEqual(now, sourcesOf(before)))
      errors.forbidden(
        "spec.persistentvolumesource",
        "spec.persistentvolumesource is immutable after creation\n",
      );
    checkImmutable("volumeMode", spec.volumeMode, before.volumeMode, errors);
    if (before.nodeAffinity && !sameAffinity(spec.nodeAffinity, before.nodeAffinity))
      errors.invalid(
        "nodeAffinity",
        spec.nodeAffinity,
        `${immutable}, except for updating from beta label to GA`,
      );
    if (before.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
      errors.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
  }),
  warningsOnCreate: (object) => volumeWarnings(volumeOf(object)),
  warningsOnUpdate: (object) => volumeWarnings(volumeOf(object)),
  subresources: {
    status: {
      prepareForUpdate(draft, old, { clock }) {
        const status = volumeOf(draft).status;
        const before = volumeOf(old).status;
        if (!status) return;
        if (status.phase !== before?.phase) status.lastPhaseTransitionTime = formatTime(clock.now());
        else if (before?.lastPhaseTransitionTime)
          status.lastPhaseTransitionTime ??= before.lastPhaseTransitionTime;
      },
    },
  },
};

const betaClass = "volume.beta.kubernetes.io/storage-class";

function volumeWarnings(volume: PersistentVolume): string[] {
  const warnings: string[] = [];
  const spec = volume.spec as PersistentVolumeSpec;
  const annotations = volume.metadata?.annotations ?? {};
  if (betaClass in annotations)
    warnings.push(
      `metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
    );
  const mount = "volume.beta.kubernetes.io/mount-options";
  if (mount in annotations)
    warnings.push(
      `metadata.annotations[${mount}]: deprecated since v1.31; use "mountOptions" attribute instead`,
    );
  if (spec.persistentVolumeReclaimPolicy === "Recycle")
    warnings.push(
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    );
  for (const [i, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
    warnings.push(...termWarnings(`spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, term, false));
  const old: readonly [keyof PersistentVolumeSpec, string][] = [
    ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
    ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
    ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
    ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
    ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
    ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
    ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
    ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
  ];
  for (const [field, message] of old)
    if (spec[field] !== undefined) warnings.push(`spec.${field}: ${message}`);
  return warnings;
}

const claimOf = (object: ApiObject) => object as unknown as PersistentVolumeClaim;

/** The newer field and the older say the same, when either is set. */
function normalizeDataSource(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...rest } = dataSourceRef;
    spec.dataSource = rest;
  }
}

/** Other namespaces are out of reach; of the older field only what it was made for is kept. */
function dropDataSource(
  spec: PersistentVolumeClaimSpec,
  before: PersistentVolumeClaimSpec | undefined,
): void {
  if (spec.dataSourceRef?.namespace && !before?.dataSourceRef) delete spec.dataSourceRef;
  if (before?.dataSource || before?.dataSourceRef || spec.dataSourceRef || !spec.dataSource) return;
  const { kind, apiGroup } = spec.dataSource;
  const known =
    (kind === "PersistentVolumeClaim" && !apiGroup) ||
    (kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io");
  if (!known) delete spec.dataSource;
}

function checkClaimUpdate(claim: PersistentVolumeClaim, old: PersistentVolumeClaim, errors: Errors): void {
  const spec = claim.spec as PersistentVolumeClaimSpec;
  const before = old.spec as PersistentVolumeClaimSpec;
  const allowGroup =
    before.dataSource?.apiGroup !== undefined || before.dataSourceRef?.apiGroup !== undefined;
  checkClaimSpec("spec", spec, errors, allowGroup);
  const now: PersistentVolumeClaimSpec = { ...spec };
  const then: PersistentVolumeClaimSpec = { ...before };
  if (!before.volumeName) set(then, "volumeName", now.volumeName);
  checkClassChange(claim, old, now, then, errors);
  const bound = claim.status?.phase === "Bound";
  if (bound && now.resources?.requests) {
    const requests = { ...now.resources.requests };
    const size = before.resources?.requests?.storage;
    if (size !== undefined) requests.storage = size;
    now.resources = { ...now.resources, requests };
  }
  if (bound) set(now, "volumeAttributesClassName", then.volumeAttributesClassName);
  if (!sameSpec(now, then))
    errors.forbidden(
      "spec",
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n",
    );
  const newSize = amount(spec.resources?.requests?.storage);
  if (newSize.compare(amount(before.resources?.requests?.storage)) < 0) {
    if (newSize.compare(amount(old.status?.capacity?.storage)) <= 0)
      errors.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  }
  checkImmutable("volumeMode", spec.volumeMode, before.volumeMode, errors);
  const attributes = spec.volumeAttributesClassName;
  if (
    attributes === before.volumeAttributesClassName ||
    old.status?.currentVolumeAttributesClassName === undefined
  )
    return;
  if (!attributes)
    errors.forbidden(
      "spec.volumeAttributesClassName",
      `update to ${attributes === undefined ? "nil" : "empty string"} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    );
}

function amount(value: string | number | undefined): Quantity {
  return Quantity.from(value ?? 0);
}

function set<K extends keyof PersistentVolumeClaimSpec>(
  spec: PersistentVolumeClaimSpec,
  field: K,
  value: PersistentVolumeClaimSpec[K] | undefined,
): void {
  if (value === undefined) delete spec[field];
  else spec[field] = value;
}

function checkClassChange(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  now: PersistentVolumeClaimSpec,
  then: PersistentVolumeClaimSpec,
  errors: Errors,
): void {
  const annotation = claim.metadata?.annotations?.[betaClass];
  const before = old.metadata?.annotations?.[betaClass];
  const name = now.storageClassName;
  const wasUnset = then.storageClassName === undefined;
  if (
    before !== undefined &&
    wasUnset &&
    name === before &&
    (annotation === undefined || annotation === before)
  ) {
    delete now.storageClassName;
    return;
  }
  if (annotation !== before) errors.invalid(`metadata.annotations.${betaClass}`, annotation ?? "", immutable);
  if (name !== undefined && wasUnset && (before === undefined || name === before))
    delete now.storageClassName;
}

/** Sizes are compared by amount, not by how they are written. */
function sameSpec(now: PersistentVolumeClaimSpec, then: PersistentVolumeClaimSpec): boolean {
  const normal = (spec: PersistentVolumeClaimSpec) => {
    const list = (amounts: Readonly<Record<string, string | number>> | undefined) =>
      amounts &&
      Object.fromEntries(
        Object.entries(amounts).map(([name, value]) => [name, String(Quantity.from(value).scaledValue(-3))]),
      );
    const { resources, ...rest } = spec;
    return { ...rest, requests: list(resources?.requests), limits: list(resources?.limits) };
  };
  return deepEqual(normal(now), normal(then));
}

const resizeStatuses = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

function checkResourceKey(path: string, name: string, errors: Errors): boolean {
  const problems = validateQualifiedName(name);
  errors.messages(path, name, problems);
  if (problems.length > 0) return false;
  if (!isNative(name) || name === "storage") return true;
  errors.notSupported(path, name, ["storage"]);
  return false;
}

function checkClaimStatus(claim: PersistentVolumeClaim, errors: Errors): void {
  if (!claim.spec?.accessModes?.length) errors.required("Spec.accessModes");
  const { capacity = {}, allocatedResources = {}, allocatedResourceStatuses = {} } = claim.status ?? {};
  const checkAmount = (path: string, value: string | number) => {
    const whole = Quantity.from(value).value();
    if (whole < 0n) errors.invalid(path, Number(whole), "must be a valid resource quantity");
  };
  for (const [name, value] of Object.entries(capacity)) checkAmount(`status.capacity[${name}]`, value);
  for (const [name, status] of Object.entries(allocatedResourceStatuses)) {
    checkResourceKey("status.allocatedResourceStatuses", name, errors);
    if (!resizeStatuses.includes(status))
      errors.notSupported("status.allocatedResourceStatuses", name, resizeStatuses);
  }
  for (const [name, value] of Object.entries(allocatedResources))
    if (checkResourceKey("status.allocatedResources", name, errors))
      checkAmount(`status.allocatedResources[${name}]`, value);
}

function claimWarnings(claim: PersistentVolumeClaim): string[] {
  const warnings: string[] = [];
  if (claim.metadata?.annotations?.[betaClass] !== undefined)
    warnings.push(
      `metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
    );
  return [...warnings, ...claimSpecWarnings("spec", claim.spec as PersistentVolumeClaimSpec)];
}

export const persistentVolumeClaims: Strategy = {
  prepareForCreate(draft) {
    const claim = claimOf(draft);
    claim.status = { phase: "Pending" };
    const spec = claim.spec as PersistentVolumeClaimSpec;
    dropDataSource(spec, undefined);
    normalizeDataSource(spec);
  },
  prepareForUpdate(draft, old) {
    const spec = claimOf(draft).spec as PersistentVolumeClaimSpec;
    dropDataSource(spec, claimOf(old).spec);
    normalizeDataSource(spec);
  },
  validate: checking<PersistentVolumeClaim>((claim, errors) =>
    checkClaimSpec("spec", claim.spec as PersistentVolumeClaimSpec, errors),
  ),
  validateUpdate: checkingUpdate(checkClaimUpdate),
  warningsOnCreate: (object) => claimWarnings(claimOf(object)),
  warningsOnUpdate: (object) => claimWarnings(claimOf(object)),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<PersistentVolumeClaim>((claim, _old, errors) =>
        checkClaimStatus(claim, errors),
      ),
    },
  },
};
