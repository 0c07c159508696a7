/** Files that volumes are made of: keys, downward fields, modes. */
import type { DownwardAPIVolumeFile, KeyToPath } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { fileMode } from "../checks/formats.ts";
import { checkFieldRef, checkResourceFieldRef, volumeFields } from "./env.ts";
import { checkFileInVolume } from "./paths.ts";

export interface VolumeRules {
  readonly isPod: boolean;
  /** Paths of tokens outside of the volume were accepted before. */
  readonly allowNonLocalTokenPath: boolean;
}

export function checkMode(path: string, mode: number | undefined, errors: Errors): void {
  if (mode !== undefined && (mode > 0o777 || mode < 0)) errors.invalid(path, mode, fileMode);
}

export function checkKeyToPath(path: string, item: KeyToPath, errors: Errors): void {
  if (!item.key) errors.required(`${path}.key`);
  if (!item.path) errors.required(`${path}.path`);
  checkFileInVolume(`${path}.path`, item.path, errors);
  checkMode(`${path}.mode`, item.mode, errors);
}

/** Errors of a file are reported on the list that holds it. */
export function checkDownwardFile(path: string, file: DownwardAPIVolumeFile, errors: Errors): void {
  if (!file.path) errors.required(`${path}.path`);
  checkFileInVolume(`${path}.path`, file.path, errors);
  if (file.fieldRef) {
    checkFieldRef(`${path}.fieldRef`, file.fieldRef, volumeFields, errors);
    if (file.resourceFieldRef)
      errors.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (file.resourceFieldRef)
    checkResourceFieldRef(`${path}.resourceFieldRef`, file.resourceFieldRef, true, errors);
  else errors.required(path, "one of fieldRef and resourceFieldRef is required");
  checkMode(`${path}.mode`, file.mode, errors);
}
