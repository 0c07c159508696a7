/** What can go wrong between us and a Redis server. */

export type RedisErrorCode =
  /** Nobody listens at that address: the process that did is gone. */
  | "Refused"
  /** No answer in time, no route, or the connection broke. */
  | "Unreachable"
  /** The server does not accept our credentials. */
  | "Denied"
  /** The certificate that the server presents is of nobody whom we trust, or of another time. */
  | "Untrusted"
  /** The server loads its data and answers nothing else. */
  | "Loading"
  /** A write was refused by a replica. */
  | "ReadOnly"
  /** A write was refused because too few replicas follow. */
  | "NoReplicas"
  /** The server answered with another error. */
  | "Answered"
  /** What arrived is not what Redis sends. */
  | "Protocol"
  | "Damaged";

export class RedisError extends Error {
  override readonly name = "RedisError";
  readonly code: RedisErrorCode;

  constructor(code: RedisErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isRedisError(error: unknown, ...codes: readonly RedisErrorCode[]): error is RedisError {
  return error instanceof RedisError && (codes.length === 0 || codes.includes(error.code));
}

/** The code of an error answer, by its first word. */
export function answeredError(message: string): RedisError {
  const [word = ""] = message.split(" ", 1);
  const codes: Readonly<Record<string, RedisErrorCode>> = {
    NOAUTH: "Denied",
    WRONGPASS: "Denied",
    NOPERM: "Denied",
    LOADING: "Loading",
    READONLY: "ReadOnly",
    NOREPLICAS: "NoReplicas",
  };
  return new RedisError(codes[word] ?? "Answered", message);
}
