/** How a plug-in refuses. */
import type { JsonValue, StatusCause } from "@keelson/core";
import type { AdmissionRequest } from "../contracts/admission.ts";
import { forbidden, type StatusError } from "../contracts/status-error.ts";

/** The object's name as far as it is known: a generated one is not, yet. */
export function nameOf({ name, object }: AdmissionRequest): string {
  if (name) return name;
  const { generateName } = object?.metadata ?? ({} as { generateName?: JsonValue });
  return object?.metadata.name || (typeof generateName === "string" && generateName) || "Unknown";
}

export function refused(request: AdmissionRequest, why: string, causes?: StatusCause[]): StatusError {
  const { group, resource } = request.resource;
  return forbidden({ group, resource }, nameOf(request), why, causes);
}

/** Whether the request is about the resource itself, not a part of it. */
export function isFor(request: AdmissionRequest, group: string, resource: string): boolean {
  return (
    request.resource.resource === resource && request.resource.group === group && request.subresource === ""
  );
}
