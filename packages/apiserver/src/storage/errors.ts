/** The errors of durable storage. */

/**
 * - `Locked`: another process has the directory.
 * - `Corrupt`: records are damaged that other records follow; a torn tail is no error.
 * - `Failed`: the disk refused a write; nothing is acknowledged any more.
 */
export type StorageErrorCode = "Locked" | "Corrupt" | "Failed";

/** Why a data directory cannot be opened, read or written, by code. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}
