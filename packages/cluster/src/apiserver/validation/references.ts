/** References to other objects by kind and name. */
import { validateDns1123Subdomain } from "@keelson/core";
import { pathSegmentName } from "../rest/metadata.ts";
import type { Errors } from "./errors.ts";

/** A part that must be given, and fit for a path. */
export function checkSegment(path: string, value: string | undefined, errors: Errors): void {
  if (!value) errors.required(path);
  else errors.messages(path, value, pathSegmentName(value, false));
}

export function checkTypedReference(
  path: string,
  { apiGroup, kind, name }: { apiGroup?: string; kind?: string; name?: string },
  errors: Errors,
): void {
  if (apiGroup !== undefined)
    errors.messages(`${path}.apiGroup`, apiGroup, validateDns1123Subdomain(apiGroup));
  checkSegment(`${path}.kind`, kind, errors);
  checkSegment(`${path}.name`, name, errors);
}
