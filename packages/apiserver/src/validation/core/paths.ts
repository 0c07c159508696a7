/** File paths in volumes and mounts. */
import type { Errors } from "../checks/errors.ts";

export function checkNoBacksteps(path: string, target: string, errors: Errors): boolean {
  if (!target.split("/").includes("..")) return true;
  errors.invalid(path, target, "must not contain '..'");
  return false;
}

export function checkDescending(path: string, target: string, errors: Errors): void {
  if (target.startsWith("/")) errors.invalid(path, target, "must be a relative path");
  checkNoBacksteps(path, target, errors);
}

/** Names that begin with two dots are kept for the atomic switch of a volume's content. */
export function checkFileInVolume(path: string, target: string, errors: Errors): void {
  checkDescending(path, target, errors);
  if (target.startsWith("..") && !target.startsWith("../"))
    errors.invalid(path, target, "must not start with '..'");
}
