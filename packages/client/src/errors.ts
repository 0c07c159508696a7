/** Every error this package throws: one base class, a closed set of codes, type guards by reason. */
import type { Status, StatusReason } from "@keelson/core";

/**
 * - `Timeout`: no answer in time, and asking again is safe.
 * - `ConnectionFailed`: no connection; nothing was sent.
 * - `ServerUntrusted`: the server's certificate is not what it must be; nothing was sent.
 * - `ConnectionLost`: the connection broke after the request was sent.
 * - `OutcomeUnknown`: a write was sent and its answer never came. It may or may not have happened.
 * - `StreamSilent`: a watch said nothing for longer than its server promises to stay silent.
 * - `InvalidRequest`: the request cannot be made as asked; a bug in the caller.
 * - `InvalidResponse`: the answer is not what the protocol allows.
 * - `KindUnknown`: the server's discovery does not list the kind.
 * - `UpgradeRefused`: the server, or what stands before it, would not leave HTTP for a stream.
 * - `StreamBroken`: an exec, attach or port-forward stream broke the protocol or its connection.
 * - `Kubeconfig…`, `Certificate…`, `Credential…`, `NotInCluster`: settings that a person must correct.
 */
export type ClientErrorCode =
  | "Timeout"
  | "ConnectionFailed"
  | "ServerUntrusted"
  | "ConnectionLost"
  | "OutcomeUnknown"
  | "StreamSilent"
  | "InvalidRequest"
  | "InvalidResponse"
  | "KindUnknown"
  | "UpgradeRefused"
  | "StreamBroken"
  | "KubeconfigMissing"
  | "KubeconfigMalformed"
  | "KubeconfigInvalid"
  | "CertificateUnreadable"
  | "CredentialPlugin"
  | "CredentialUnreadable"
  | "NotInCluster";

/** The base of all. `code` is a word of ours, or the HTTP status when the API server refused. */
export class ClientError extends Error {
  readonly code: ClientErrorCode | number;

  constructor(code: ClientErrorCode | number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ClientError";
    this.code = code;
  }
}

/** What was being done when the server refused. */
export interface ApiErrorOptions extends ErrorOptions {
  /** What we were doing on which object: `create Service default/db`. */
  readonly doing: string;
  readonly write?: boolean;
  readonly retryAfterMs?: number;
}

/** The API server answered, and did not do what was asked. */
export class ApiError<R extends StatusReason = StatusReason> extends ClientError {
  declare readonly code: number;
  readonly reason: R;
  /** The server's whole answer. */
  readonly status: Status;
  /** How long the server asks us to wait. */
  readonly retryAfterMs: number | undefined;
  /** Whether the request would have changed something. */
  readonly write: boolean;

  constructor(status: Status, options: ApiErrorOptions) {
    const code = status.code ?? 500;
    const reason = (status.reason || reasonOf(code)) as R;
    super(code, `cannot ${options.doing}: ${describe(status, code, reason)}`, options);
    this.name = "ApiError";
    this.reason = reason;
    this.status = status;
    this.write = options.write ?? false;
    this.retryAfterMs = options.retryAfterMs ?? secondsToMs(status.details?.retryAfterSeconds);
  }
}

function describe(status: Status, code: number, reason: StatusReason): string {
  const message = status.message?.trim() || `HTTP ${code}`;
  return reason && reason !== "Unknown" ? `${message} (${reason})` : `${message} (HTTP ${code})`;
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** What a status code means when the body names no reason, as behind a proxy. */
function reasonOf(code: number): StatusReason {
  return reasons[code] ?? "Unknown";
}

const reasons: Readonly<Record<number, StatusReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The server answered and refused. */
export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}

function hasReason<R extends StatusReason>(error: unknown, reason: R): error is ApiError<R> {
  return error instanceof ApiError && error.reason === reason;
}

/** The object, its namespace or its whole kind is not there; `isAbsent` tells which. */
export function isNotFound(error: unknown): error is ApiError<"NotFound"> {
  return hasReason(error, "NotFound");
}

/** The server knows the kind and says that this very object does not exist. */
export function isAbsent(error: unknown, name: string): error is ApiError<"NotFound"> {
  return hasReason(error, "NotFound") && error.status.details?.name === name;
}

/** The object is there already (409 AlreadyExists). */
export function isAlreadyExists(error: unknown): error is ApiError<"AlreadyExists"> {
  return hasReason(error, "AlreadyExists");
}

/** The object was changed by another writer (409 Conflict). */
export function isConflict(error: unknown): error is ApiError<"Conflict"> {
  return hasReason(error, "Conflict");
}

/** The object does not pass validation (422). */
export function isInvalid(error: unknown): error is ApiError<"Invalid"> {
  return hasReason(error, "Invalid");
}

/**
 * The server will never take this body, whatever happens around it: it is invalid (422), malformed (400), too large
 * (413), or applies a field that the schema does not have, for which servers answer 500.
 */
export function isRefused(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return [400, 413, 415, 422].includes(error.code) || isUntypedPatch(error);
}

/** Found before anything is written, though the status code speaks of the server. */
function isUntypedPatch({ code, status }: ApiError): boolean {
  return code === 500 && (status.message ?? "").startsWith("failed to create typed patch object");
}

/** The user is known and may not do this (403). */
export function isForbidden(error: unknown): error is ApiError<"Forbidden"> {
  return hasReason(error, "Forbidden");
}

/** The server does not accept the credentials (401). */
export function isUnauthorized(error: unknown): error is ApiError<"Unauthorized"> {
  return hasReason(error, "Unauthorized");
}

/** The server asks for patience (429). */
export function isTooManyRequests(error: unknown): error is ApiError<"TooManyRequests"> {
  return hasReason(error, "TooManyRequests");
}

/** The server's history no longer reaches back to the version that was asked for. */
export function isExpired(error: unknown): error is ApiError<"Expired" | "Gone"> {
  return error instanceof ApiError && (error.code === 410 || error.reason === "Expired");
}

/**
 * Whether a write may have happened although it failed: its answer was lost, or the server gave up
 * half-way. Only a live read tells.
 */
export function isOutcomeUnknown(error: unknown): error is ClientError {
  if (!(error instanceof ClientError)) return false;
  if (error.code === "OutcomeUnknown") return true;
  if (!(error instanceof ApiError) || isUntypedPatch(error)) return false;
  return error.write && error.code >= 500 && error.retryAfterMs === undefined;
}

/** Whether it failed before a byte of the request left us: sending it again can do no harm. */
export function isUnsent(error: unknown): error is ClientError {
  return error instanceof ClientError && unsentCodes.has(error.code);
}

const unsentCodes: ReadonlySet<ClientErrorCode | number> = new Set<ClientErrorCode>([
  "ConnectionFailed",
  "ServerUntrusted",
  "InvalidRequest",
  "KubeconfigInvalid",
  "CertificateUnreadable",
  "CredentialPlugin",
  "CredentialUnreadable",
]);

/** Whether asking again later may succeed without anyone changing anything. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ClientError) || isRefused(error)) return false;
  if (typeof error.code === "number") return error.code === 429 || error.code >= 500;
  return transientCodes.has(error.code);
}

const transientCodes: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>([
  "Timeout",
  "ConnectionFailed",
  "ConnectionLost",
  "OutcomeUnknown",
  "StreamSilent",
  "StreamBroken",
]);
