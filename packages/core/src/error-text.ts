/** What was thrown, which may be anything, as a sentence or as an error. */

/** The message of an error, and anything else as a string. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** An error as it is, and anything else as the message of one. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
