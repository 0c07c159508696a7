/** The API server's answer to a request it did not carry out. */

export type StatusReason =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "UnsupportedMediaType"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Expired"
  | "Invalid"
  | "RequestEntityTooLarge"
  | "TooManyRequests"
  | "InternalError"
  | "ServerTimeout"
  | "Timeout"
  | "ServiceUnavailable"
  | "Unknown"
  | "";

/** One cause of a refusal: the field and what is wrong with it. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** What a refusal is about, and when to try again. */
export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** `kind: Status`, as it stands in an error's body. */
export interface Status {
  apiVersion?: "v1";
  kind?: "Status";
  metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  status?: "Success" | "Failure";
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}
