/** What can go wrong while a backup is taken, verified, fetched or removed. */

/**
 * Codes of {@link BackupError}. They end up in the status of backups as reasons, so they are public names.
 *
 * - `NoMember`: no server of the database could be asked for a backup.
 * - `SnapshotDamaged`: the stream from the database ended early, or its bytes are not those that were sent.
 * - `StoreUnavailable`: the store does not answer, or not as it should; another attempt may help.
 * - `StoreRefused`: the store refuses the request, for instance because of wrong credentials.
 * - `NotFound`: the store has no such object.
 * - `NotOurs`: another backup wrote under this name.
 * - `StoredDamaged`: the bytes in the store are not those that were written.
 * - `VersionTooNew`: the backup was taken from a newer release than the one that is to read it.
 * - `NotVerified`: the backup was never proven by restoring it, and the user did not allow that.
 * - `ContentDiffers`: the restored copy does not hold what the database held.
 * - `RestoreFailed`: the restored copy does not serve.
 * - `BadConfiguration`: the task or the store is described wrongly.
 */
export type BackupErrorCode =
  | "NoMember"
  | "SnapshotDamaged"
  | "StoreUnavailable"
  | "StoreRefused"
  | "NotFound"
  | "NotOurs"
  | "StoredDamaged"
  | "VersionTooNew"
  | "NotVerified"
  | "ContentDiffers"
  | "RestoreFailed"
  | "BadConfiguration";

const terminal: ReadonlySet<string> = new Set<BackupErrorCode>([
  "NotOurs",
  "StoredDamaged",
  "ContentDiffers",
]);

/** The only error that stores and archives reject with. */
export class BackupError extends Error {
  override readonly name = "BackupError";
  /** Which problem it is; see {@link BackupErrorCode}. */
  readonly code: BackupErrorCode;

  constructor(code: BackupErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether an error is a {@link BackupError} with one of the codes. Default: any code. */
export function isBackupError(error: unknown, ...codes: readonly BackupErrorCode[]): error is BackupError {
  return error instanceof BackupError && (codes.length === 0 || codes.includes(error.code));
}

/** Whether another attempt under the same name cannot succeed. Takes a string, because reports carry the code as text. */
export function isTerminalBackupCode(code: string): boolean {
  return terminal.has(code);
}
