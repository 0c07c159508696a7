/** Every refusal of the API server is a StatusError: the Status that the client reads. */
import type { Status, StatusCause, StatusDetails, StatusReason } from "@keelson/core";
import { aggregateText, causeOf, type FieldError } from "./field-error.ts";

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** A refusal of the API server, with the `Status` that the client reads. */
export class StatusError extends Error {
  readonly status: Status & { code: number };
  constructor(status: Status & { code: number }, cause?: unknown) {
    super(status.message ?? "", cause === undefined ? undefined : { cause });
    this.name = "StatusError";
    this.status = status;
  }
}

interface Failure {
  code: number;
  reason: StatusReason;
  message: string;
  details?: StatusDetails;
  metadata?: Status["metadata"];
  cause?: unknown;
}

export function failure({ code, reason, message, details, metadata, cause }: Failure): StatusError {
  return new StatusError(
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: metadata ?? {},
      status: "Failure",
      message,
      reason,
      ...(details && { details: compact(details) }),
      code,
    },
    cause,
  );
}

/** `details` is written with Go's omitempty. */
function compact(details: StatusDetails): StatusDetails {
  const out: StatusDetails = {};
  if (details.name) out.name = details.name;
  if (details.group) out.group = details.group;
  if (details.kind) out.kind = details.kind;
  if (details.uid) out.uid = details.uid;
  if (details.causes?.length) out.causes = details.causes;
  if (details.retryAfterSeconds) out.retryAfterSeconds = details.retryAfterSeconds;
  return out;
}

/** `resource.group`, as messages name a resource. */
export function qualified({ group, resource }: GroupResource): string {
  return group ? `${resource}.${group}` : resource;
}

function detailsOf({ group, resource }: GroupResource, name?: string): StatusDetails {
  return { name, group, kind: resource };
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: `${qualified(resource)} "${name}" not found`,
    details: detailsOf(resource, name),
  });
}

/** The answer of a path under an API group that leads nowhere. */
export function noSuchResource(): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualified(resource)} "${name}" already exists`,
    details: detailsOf(resource, name),
  });
}

export function generateNameConflict(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualified(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    details: { ...detailsOf(resource, name), retryAfterSeconds: 1 },
  });
}

export function unauthorized(message = "Unauthorized"): StatusError {
  return failure({ code: 401, reason: "Unauthorized", message });
}

export function forbidden(
  resource: GroupResource,
  name: string,
  why: string,
  causes?: StatusCause[],
): StatusError {
  const subject = qualified(resource);
  const message = !subject
    ? `forbidden: ${why}`
    : name
      ? `${subject} "${name}" is forbidden: ${why}`
      : `${subject} is forbidden: ${why}`;
  return failure({
    code: 403,
    reason: "Forbidden",
    message,
    details: { ...detailsOf(resource, name), causes },
  });
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    details: detailsOf(resource, name),
  });
}

export const modifiedMessage =
  "the object has been modified; please apply your changes to the latest version and try again";

export function applyConflict(causes: StatusCause[], message: string): StatusError {
  return failure({ code: 409, reason: "Conflict", message, details: { causes } });
}

export function expired(message: string, metadata?: Status["metadata"]): StatusError {
  return failure({ code: 410, reason: "Expired", message, metadata });
}

export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  const subject = kind.group ? `${kind.kind}.${kind.group}` : kind.kind;
  const suffix = errors.length > 0 ? `: ${aggregateText(errors)}` : "";
  return failure({
    code: 422,
    reason: "Invalid",
    message: `${subject} "${name}" is invalid${suffix}`,
    details: { name, group: kind.group, kind: kind.kind, causes: errors.map(causeOf) },
  });
}

export function badRequest(message: string, cause?: unknown): StatusError {
  return failure({ code: 400, reason: "BadRequest", message, cause });
}

/** A method that no route of the path takes. */
export function methodNotAllowed(): StatusError {
  return failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });
}

/** A verb that a custom resource does not have. */
export function methodNotSupported(resource: { group: string; resource: string }, verb: string): StatusError {
  const { group, resource: kind } = resource;
  return failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: `${verb} is not supported on resources of kind ${JSON.stringify(`${kind}.${group}`)}`,
    details: { group, kind },
  });
}

export function notAcceptable(supported: readonly string[]): StatusError {
  return failure({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${supported.join(", ")}`,
  });
}

/** A route's refusal, when the client accepts nothing of what it produces. */
export function noRepresentation(supported: readonly string[]): StatusError {
  return failure({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${supported.join(", ")}`,
    details: {},
  });
}

export function unsupportedMediaType(supported: readonly string[]): StatusError {
  return failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${supported.join(", ")}`,
  });
}

export function entityTooLarge(message: string): StatusError {
  return failure({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: ${message}`,
  });
}

export function tooManyRequests(
  message: string,
  retryAfterSeconds: number,
  causes?: StatusCause[],
): StatusError {
  return failure({ code: 429, reason: "TooManyRequests", message, details: { retryAfterSeconds, causes } });
}

export function timeout(message: string, retryAfterSeconds: number, causes?: StatusCause[]): StatusError {
  return failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: ${message}`,
    details: { retryAfterSeconds, causes },
  });
}

export function serviceUnavailable(message: string): StatusError {
  return failure({ code: 503, reason: "ServiceUnavailable", message });
}

export function internalError(message: string, cause?: unknown): StatusError {
  return failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
    cause,
  });
}

/** What the client reads for anything that was thrown: programming errors become a 500. */
export function statusOf(error: unknown): Status & { code: number } {
  if (error instanceof StatusError) return error.status;
  return internalError(error instanceof Error ? error.message : String(error), error).status;
}
