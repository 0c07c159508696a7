/** References to other objects by kind and name. */
import { validateDns1123Subdomain } from "@keelson/core";
import { pathSegmentName } from "../../registry/metadata.ts";
import type { Errors } from "./errors.ts";
import { patternMismatch } from "./formats.ts";

/** A part that must be given, and fit for a path. */
export function checkSegment(path: string, value: string | undefined, errors: Errors): void {
  if (!value) errors.required(path);
  else errors.messages(path, value, pathSegmentName(value, false));
}

export function checkTypedReference(
  path: string,
  { apiGroup, kind, name }: { apiGroup?: string | null; kind?: string; name?: string },
  errors: Errors,
): void {
  // Absent groups are read as null.
  if (apiGroup !== undefined && apiGroup !== null)
    errors.messages(`${path}.apiGroup`, apiGroup, validateDns1123Subdomain(apiGroup));
  checkSegment(`${path}.kind`, kind, errors);
  checkSegment(`${path}.name`, name, errors);
}

const pathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathExpression = new RegExp(`^${pathPattern}$`);

/** As `example.com/name`: who is responsible. */
export function checkDomainPath(path: string, value: string, errors: Errors): void {
  if (value === "") {
    errors.required(path);
    return;
  }
  const slash = value.indexOf("/");
  const host = value.slice(0, slash);
  const rest = value.slice(slash + 1);
  if (slash < 1 || rest === "") {
    errors.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  errors.messages(path, host, validateDns1123Subdomain(host));
  if (!pathExpression.test(rest)) errors.invalid(path, rest, patternMismatch("Invalid path", pathPattern));
}
