/** Volumes of a pod. */
import { type ObjectMeta, Quantity, validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type { DownwardAPIVolumeFile, KeyToPath, Volume } from "@keelson/core/kinds";
import { validateAnnotations } from "../../registry/metadata.ts";
import { Errors } from "../checks/errors.ts";
import { rangeError } from "../checks/formats.ts";
import { matchesPattern } from "../checks/pattern.ts";
import { checkLabels } from "../checks/selectors.ts";
import { checkClaimSpec } from "./claim-spec.ts";
import { checkDescending, checkNoBacksteps } from "./paths.ts";
import { checkProjected } from "./projected-volume.ts";
import { csiDriverName } from "./storage-names.ts";
import { checkDownwardFile, checkKeyToPath, checkMode, type VolumeRules } from "./volume-files.ts";

/** A check of one source; the two kinds of volumes share most. */
export type SourceCheck = (source: never, path: string, errors: Errors) => void;

type Check = (source: never, path: string, errors: Errors, volume: Volume, rules: VolumeRules) => void;

/** A source of which only these fields must be there. */
export function needs(...fields: string[]): SourceCheck {
  return (source: Record<string, unknown>, path: string, errors: Errors) => {
    for (const field of fields) {
      const value = source[field];
      if (!value || (Array.isArray(value) && value.length === 0)) errors.required(`${path}.${field}`);
    }
  };
}

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

export const checkHostPath: SourceCheck = (source: { path: string; type?: string }, path, errors) => {
  if (!source.path) {
    errors.required(`${path}.path`);
    return;
  }
  checkNoBacksteps(`${path}.path`, source.path, errors);
  if (source.type !== undefined && !hostPathTypes.includes(source.type))
    errors.notSupported(`${path}.type`, source.type, hostPathTypes);
};

export const checkPartitionedDisk =
  (field: string): SourceCheck =>
  (source: Record<string, unknown>, path, errors) => {
    if (!source[field]) errors.required(`${path}.${field}`);
    const partition = Number(source.partition ?? 0);
    if (partition < 0 || partition > 255) errors.invalid(`${path}.partition`, partition, rangeError(1, 255));
  };

const checkKeyed =
  (nameField: string): Check =>
  (source: { defaultMode?: number; items?: KeyToPath[] } & Record<string, unknown>, path, errors) => {
    if (!source[nameField]) errors.required(`${path}.${nameField}`);
    checkMode(`${path}.defaultMode`, source.defaultMode, errors);
    for (const [i, item] of (source.items ?? []).entries())
      checkKeyToPath(`${path}.items[${i}]`, item, errors);
  };

export const checkNfs: SourceCheck = (source: { server: string; path: string }, path, errors) => {
  if (!source.server) errors.required(`${path}.server`);
  if (!source.path) errors.required(`${path}.path`);
  if (!source.path.startsWith("/")) errors.invalid(`${path}.path`, source.path, "must be an absolute path");
};

/** In RE2's syntax. */
const initiators: readonly [prefix: string, pattern: string][] = [
  ["iqn", "iqn\\.\\d{4}-\\d{2}\\.([[:alnum:]-.]+)(:[^,;*&$|\\s]+)$"],
  ["eui", "^eui.[[:alnum:]]{16}$"],
  ["naa", "^naa.[[:alnum:]]{32}$"],
];

interface Iscsi {
  targetPortal: string;
  iqn: string;
  lun: number;
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: { name?: string };
  initiatorName?: string;
}

export function checkIscsiSource(
  path: string,
  source: Iscsi,
  errors: Errors,
  wrongPrefix: string,
  persistentName?: string,
): void {
  if (!source.targetPortal) errors.required(`${path}.targetPortal`);
  if (persistentName !== undefined) {
    if (source.initiatorName !== undefined && `${persistentName}:${source.targetPortal}`.length > 64)
      errors.invalid(`${path}.targetportal`, source.targetPortal, tooLongTarget);
  }
  const checkName = (field: string, name: string) => {
    const known = initiators.find(([prefix]) => name.startsWith(prefix));
    if (!known) errors.invalid(`${path}.${field}`, name, wrongPrefix);
    else if (!matchesPattern(known[1], name))
      errors.invalid(`${path}.${field}`, name, "must be valid format");
  };
  if (!source.iqn) errors.required(`${path}.iqn`);
  else checkName("iqn", source.iqn);
  if (source.lun < 0 || source.lun > 255) errors.invalid(`${path}.lun`, source.lun, rangeError(0, 255));
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef)
    errors.required(`${path}.secretRef`);
  if (persistentName !== undefined && source.secretRef && !source.secretRef.name)
    errors.required(`${path}.secretRef.name`);
  if (source.initiatorName !== undefined) checkName("initiatorname", source.initiatorName);
}

const tooLongTarget =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

export const checkFc: SourceCheck = (
  source: { targetWWNs?: string[]; wwids?: string[]; lun?: number },
  path,
  errors,
) => {
  const { targetWWNs = [], wwids = [], lun } = source;
  if (targetWWNs.length === 0 && wwids.length === 0)
    errors.required(`${path}.targetWWNs`, "must specify either targetWWNs or wwids, but not both");
  if (targetWWNs.length > 0 && wwids.length > 0)
    errors.invalid(
      `${path}.targetWWNs`,
      targetWWNs,
      "targetWWNs and wwids can not be specified simultaneously",
    );
  if (targetWWNs.length === 0) return;
  if (lun === undefined) errors.required(`${path}.lun`, "lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > 255) errors.invalid(`${path}.lun`, lun, rangeError(0, 255));
};

export const checkFlocker: SourceCheck = (
  source: { datasetName?: string; datasetUUID?: string },
  path,
  errors,
) => {
  if (!source.datasetName && !source.datasetUUID)
    errors.required(path, "one of datasetName and datasetUUID is required");
  if (source.datasetName && source.datasetUUID)
    errors.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  if (source.datasetName?.includes("/"))
    errors.invalid(`${path}.datasetName`, source.datasetName, "must not contain '/'");
};

const hostPort = "must be a host:port pair or multiple pairs separated by commas";

export const checkQuobyte: SourceCheck = (
  source: { registry: string; tenant?: string; volume: string },
  path,
  errors,
) => {
  if (!source.registry) errors.required(`${path}.registry`, hostPort);
  else if ((source.tenant ?? "").length >= 65)
    errors.required(`${path}.tenant`, "must be a UUID and may not exceed a length of 64 characters");
  else
    for (const pair of source.registry.split(","))
      if (!/^(\[[^\]]*\]|[^:[\]]*):[^:]*$/.test(pair))
        errors.invalid(`${path}.registry`, source.registry, hostPort);
  if (!source.volume) errors.required(`${path}.volume`);
};

export const checkFlex: SourceCheck = (
  source: { driver: string; options?: Record<string, string> },
  path,
  errors,
) => {
  if (!source.driver) errors.required(`${path}.driver`);
  for (const key in source.options) {
    const normalized = `.${(key.split("/")[0] ?? "").toLowerCase()}`;
    if (normalized.endsWith(".kubernetes.io") || normalized.endsWith(".k8s.io"))
      errors.invalid(`${path}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved");
  }
};

const cachingModes = ["None", "ReadOnly", "ReadWrite"];
const diskKinds = ["Dedicated", "Managed", "Shared"];

export const checkAzureDisk: SourceCheck = (
  source: { diskName: string; diskURI: string; cachingMode?: string; kind?: string },
  path,
  errors,
) => {
  const { diskName, diskURI, cachingMode, kind } = source;
  if (!diskName) errors.required(`${path}.diskName`);
  if (!diskURI) errors.required(`${path}.diskURI`);
  if (cachingMode !== undefined && !cachingModes.includes(cachingMode))
    errors.notSupported(`${path}.cachingMode`, cachingMode, cachingModes);
  if (kind !== undefined && !diskKinds.includes(kind)) errors.notSupported(`${path}.kind`, kind, diskKinds);
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/"))
    errors.notSupported(`${path}.diskURI`, diskURI, [
      "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
    ]);
  if (kind !== undefined && kind !== "Managed" && !diskURI.startsWith("https://"))
    errors.notSupported(`${path}.diskURI`, diskURI, [
      "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
    ]);
};

export const checkStorageOs =
  (withNamespace: boolean): SourceCheck =>
  (
    source: {
      volumeName?: string;
      volumeNamespace?: string;
      secretRef?: { name?: string; namespace?: string };
    },
    path,
    errors,
  ) => {
    const { volumeName, volumeNamespace, secretRef } = source;
    if (!volumeName) errors.required(`${path}.volumeName`);
    else errors.messages(`${path}.volumeName`, volumeName, validateDns1123Label(volumeName));
    if (volumeNamespace)
      errors.messages(`${path}.volumeNamespace`, volumeNamespace, validateDns1123Label(volumeNamespace));
    if (secretRef) checkSecretRef(path, secretRef, withNamespace, errors);
  };

export function checkSecretRef(
  path: string,
  ref: { name?: string; namespace?: string },
  withNamespace: boolean,
  errors: Errors,
): void {
  if (!ref.name) errors.required(`${path}.secretRef.name`);
  if (withNamespace && !ref.namespace) errors.required(`${path}.secretRef.namespace`);
}

export const checkCinder =
  (withNamespace: boolean): SourceCheck =>
  (source: { volumeID: string; secretRef?: { name?: string } }, path, errors) => {
    if (!source.volumeID) errors.required(`${path}.volumeID`);
    if (source.secretRef) checkSecretRef(path, source.secretRef, withNamespace, errors);
  };

const checkCsi: Check = (
  source: { driver: string; nodePublishSecretRef?: { name?: string } },
  path,
  errors,
) => {
  csiDriverName(`${path}.driver`, source.driver, errors);
  const ref = source.nodePublishSecretRef;
  if (!ref) return;
  if (!ref.name) errors.required(`${path}.nodePublishSecretRef.name`);
  else errors.messages(`${path}.name`, ref.name, validateDns1123Subdomain(ref.name));
};

const templateFields = new Set(["annotations", "labels"]);

const checkEphemeral: Check = (source: NonNullable<Volume["ephemeral"]>, path, errors) => {
  const template = source.volumeClaimTemplate;
  if (!template) {
    errors.required(`${path}.volumeClaimTemplate`);
    return;
  }
  const at = `${path}.volumeClaimTemplate`;
  const meta: ObjectMeta = template.metadata ?? {};
  errors.add(validateAnnotations(meta.annotations ?? {}, `${at}.metadata.annotations`));
  checkLabels(`${at}.metadata.labels`, meta.labels, errors);
  for (const field in meta)
    if (!templateFields.has(field)) errors.forbidden(`${at}.metadata.${field}`, "cannot be set");
  checkClaimSpec(`${at}.spec`, template.spec, errors);
};

const pullPolicies = ["Always", "IfNotPresent", "Never"];

export function checkPullPolicy(path: string, policy: string | undefined, errors: Errors): void {
  if (!policy) errors.required(path);
  else if (!pullPolicies.includes(policy)) errors.notSupported(path, policy, pullPolicies);
}

const checkImage: Check = (
  source: { reference?: string; pullPolicy?: string },
  path,
  errors,
  _volume,
  rules,
) => {
  if (rules.isPod && !source.reference) errors.required(`${path}.reference`);
  checkPullPolicy(`${path}.pullPolicy`, source.pullPolicy, errors);
};

interface Source {
  readonly field: keyof Volume;
  readonly check: Check;
  /** Where errors are reported, when it is not the field's own name. */
  readonly path?: string;
  readonly duplicatePath?: string;
}

/** In the order in which they are looked at. */
const sources: readonly Source[] = [
  { field: "hostPath", check: checkHostPath },
  {
    field: "gitRepo",
    check: (source: { repository: string; directory?: string }, path, errors) => {
      if (!source.repository) errors.required(`${path}.repository`);
      checkDescending(`${path}.directory`, source.directory ?? "", errors);
    },
  },
  { field: "gcePersistentDisk", check: checkPartitionedDisk("pdName"), path: "persistentDisk" },
  { field: "awsElasticBlockStore", check: checkPartitionedDisk("volumeID") },
  { field: "secret", check: checkKeyed("secretName") },
  { field: "nfs", check: checkNfs },
  {
    field: "iscsi",
    check: (source: Iscsi, path, errors) =>
      checkIscsiSource(path, source, errors, "must be valid format starting with iqn, eui, or naa"),
  },
  { field: "glusterfs", check: needs("endpoints", "path") },
  { field: "flocker", check: checkFlocker },
  { field: "persistentVolumeClaim", check: needs("claimName") },
  { field: "rbd", check: needs("monitors", "image") },
  { field: "cinder", check: checkCinder(false) },
  { field: "cephfs", check: needs("monitors"), duplicatePath: "cephFS" },
  { field: "quobyte", check: checkQuobyte },
  {
    field: "downwardAPI",
    duplicatePath: "downwarAPI",
    check: (source: { defaultMode?: number; items?: DownwardAPIVolumeFile[] }, path, errors) => {
      checkMode(`${path}.defaultMode`, source.defaultMode, errors);
      for (const file of source.items ?? []) checkDownwardFile(path, file, errors);
    },
  },
  { field: "fc", check: checkFc },
  { field: "flexVolume", check: checkFlex },
  { field: "configMap", check: checkKeyed("name") },
  { field: "azureFile", check: needs("secretName", "shareName") },
  { field: "vsphereVolume", check: needs("volumePath") },
  { field: "photonPersistentDisk", check: needs("pdID") },
  { field: "portworxVolume", check: needs("volumeID") },
  { field: "azureDisk", check: checkAzureDisk },
  { field: "storageos", check: checkStorageOs(false) },
  {
    field: "projected",
    check: (source: NonNullable<Volume["projected"]>, path, errors, _volume, rules) =>
      checkProjected(path, source, rules, errors),
  },
  { field: "scaleIO", check: needs("gateway", "system", "volumeName") },
  { field: "csi", check: checkCsi },
  { field: "ephemeral", check: checkEphemeral },
  { field: "image", check: checkImage },
];
const sourceByField = new Map(sources.map((source) => [source.field as string, source]));

function checkSource(
  path: string,
  volume: Volume,
  podName: string,
  rules: VolumeRules,
  errors: Errors,
): void {
  let count = 0;
  if (volume.emptyDir) {
    count++;
    const limit = volume.emptyDir.sizeLimit;
    if (limit !== undefined && Quantity.from(limit).sign() < 0)
      errors.forbidden(`${path}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity");
  }
  for (const { field, check, path: at = field, duplicatePath = field } of present(volume)) {
    const source = volume[field];
    if (count > 0) errors.forbidden(`${path}.${duplicatePath}`, "may not specify more than 1 volume type");
    else {
      count++;
      check(source as never, `${path}.${at}`, errors, volume, rules);
      if (field === "ephemeral" && podName && volume.name) {
        const claim = `${podName}-${volume.name}`;
        for (const problem of validateDns1123Subdomain(claim))
          errors.invalid(`${path}.name`, volume.name, `PVC name ${JSON.stringify(claim)}: ${problem}`);
      }
    }
    if (field === "iscsi" && volume.iscsi?.initiatorName !== undefined)
      if (`${volume.name}:${volume.iscsi.targetPortal}`.length > 64)
        errors.invalid(`${path}.name`, volume.name, tooLongTarget);
  }
  if (count === 0) errors.required(path, "must specify a volume type");
}

/** The sources that a volume has: nearly always one. */
function present(volume: Volume): readonly Source[] {
  let first: Source | undefined;
  for (const field in volume) {
    const source = sourceByField.get(field);
    if (!source) continue;
    if (first) return sources.filter((candidate) => volume[candidate.field] !== undefined);
    first = source;
  }
  return first ? [first] : [];
}

/** Volumes without errors, by name: what mounts may refer to. */
export function checkVolumes(
  path: string,
  volumes: readonly Volume[],
  podName: string,
  rules: VolumeRules,
  errors: Errors,
): Map<string, Volume> {
  const valid = new Map<string, Volume>();
  if (volumes.length === 0) return valid;
  const created = new Set<string>();
  if (podName) for (const volume of volumes) if (volume.ephemeral) created.add(`${podName}-${volume.name}`);
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}[${i}]`;
    const own = new Errors();
    checkSource(at, volume, podName, rules, own);
    if (!volume.name) own.required(`${at}.name`);
    else own.messages(`${at}.name`, volume.name, validateDns1123Label(volume.name));
    if (valid.has(volume.name)) own.duplicate(`${at}.name`, volume.name);
    if (own.list.length === 0) valid.set(volume.name, volume);
    else errors.add(own.list);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim))
      errors.invalid(
        `${at}.persistentVolumeClaim.claimName`,
        claim,
        "must not reference a PVC that gets created for an ephemeral volume",
      );
  }
  return valid;
}
