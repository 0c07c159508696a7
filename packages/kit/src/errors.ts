/** What can go wrong while a backup is taken, verified, fetched or removed. */

export type BackupErrorCode =
  /** No member could be asked for a snapshot. */
  | "NoMember"
  /** The stream ended early, or its bytes are not those that etcd sent. */
  | "SnapshotDamaged"
  /** The store does not answer, or not as it should. */
  | "StoreUnavailable"
  | "StoreRefused"
  | "NotFound"
  /** The name is taken by what another backup has written. */
  | "NotOurs"
  /** What lies in the store is not what was written there. */
  | "StoredDamaged"
  /** It was taken from a newer etcd than is to read it. */
  | "VersionTooNew"
  /** It was never proven by restoring it, and nobody said that it will do. */
  | "NotVerified"
  /** The restored member does not hold what the cluster held. */
  | "ContentDiffers"
  /** The restored member does not serve. */
  | "RestoreFailed"
  | "BadConfiguration";

/** What another attempt with the same name cannot mend. */
const terminal: ReadonlySet<BackupErrorCode> = new Set(["NotOurs", "StoredDamaged", "ContentDiffers"]);

export class BackupError extends Error {
  override readonly name = "BackupError";
  readonly code: BackupErrorCode;

  constructor(code: BackupErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isBackupError(error: unknown, ...codes: readonly BackupErrorCode[]): error is BackupError {
  return error instanceof BackupError && (codes.length === 0 || codes.includes(error.code));
}

export function isTerminal(code: string): boolean {
  return terminal.has(code as BackupErrorCode);
}
