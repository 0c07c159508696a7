/** The spec of a persistent volume claim, in a claim or in a template. */
import { deepEqual, Quantity, validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type { PersistentVolumeClaimSpec } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { positive } from "../checks/formats.ts";
import { checkSelector } from "../checks/selectors.ts";
import { checkResourceAmount } from "./resources.ts";

export const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
export const volumeModes = ["Block", "Filesystem"];

export function checkAccessModes(path: string, modes: readonly string[], errors: Errors): void {
  let exclusive = false;
  let shared = false;
  for (const mode of modes) {
    const known = accessModes.includes(mode);
    if (!known) errors.notSupported(path, mode, accessModes);
    if (mode === "ReadWriteOncePod") exclusive = true;
    else if (known) shared = true;
  }
  if (exclusive && shared) errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

interface Source {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

function checkDataSource(path: string, source: Source, allowGroup: boolean, errors: Errors): void {
  if (!source.name) errors.required(`${path}.name`);
  if (!source.kind) errors.required(`${path}.kind`);
  const group = source.apiGroup ?? "";
  if (!group && source.kind !== "PersistentVolumeClaim")
    errors.invalid(
      path,
      source.kind,
      "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
    );
  if (group && !allowGroup) errors.messages(`${path}.apiGroup`, group, validateDns1123Subdomain(group));
  if (source.namespace)
    errors.messages(`${path}.namespace`, source.namespace, validateDns1123Label(source.namespace));
}

export function checkClaimSpec(
  path: string,
  spec: PersistentVolumeClaimSpec,
  errors: Errors,
  allowDataSourceGroup = false,
): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) errors.required(`${path}.accessModes`, "at least 1 access mode is required");
  checkSelector(`${path}.selector`, spec.selector, errors);
  checkAccessModes(`${path}.accessModes`, modes, errors);
  const storage = spec.resources?.requests?.storage;
  const at = `${path}.resources[storage]`;
  if (storage === undefined) errors.required(at);
  else {
    const amount = Quantity.from(storage);
    if (amount.sign() <= 0) errors.invalid(at, amount.toString(), positive);
    else checkResourceAmount(at, "storage", amount, errors);
  }
  if (spec.storageClassName)
    errors.messages(
      `${path}.storageClassName`,
      spec.storageClassName,
      validateDns1123Subdomain(spec.storageClassName),
    );
  if (spec.volumeMode !== undefined && !volumeModes.includes(spec.volumeMode))
    errors.notSupported(`${path}.volumeMode`, spec.volumeMode, volumeModes);
  const { dataSource, dataSourceRef } = spec;
  if (dataSource) checkDataSource(`${path}.dataSource`, dataSource, allowDataSourceGroup, errors);
  if (dataSourceRef) checkDataSource(`${path}.dataSourceRef`, dataSourceRef, allowDataSourceGroup, errors);
  if (dataSource && dataSourceRef) {
    if (dataSourceRef.namespace)
      errors.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified");
    else if (!deepEqual(dataSource, dataSourceRef)) errors.invalid(path, {}, "must match dataSourceRef");
  }
  if (spec.volumeAttributesClassName)
    errors.messages(
      `${path}.volumeAttributesClassName`,
      spec.volumeAttributesClassName,
      validateDns1123Subdomain(spec.volumeAttributesClassName),
    );
}
