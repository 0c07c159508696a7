/** Conditions and reasons: public API. Ready, Reconciling and Stalled follow from the outcome of a reconcile. */

export const conditions = {
  /** A primary answers and takes writes. */
  available: "Available",
  /** Something is not as it should be, though the database may serve. */
  degraded: "Degraded",
  /** Backups are taken as scheduled, and each was proven by restoring it. */
  backupHealthy: "BackupHealthy",
} as const;

/** Why a database is where it is. Those of BackupHealthy are `backupHealthReasons` of @keelson/kit. */
export const reasons = {
  creating: "Creating",
  initializing: "Initializing",
  initializationFailed: "InitializationFailed",
  healthy: "Healthy",
  /** The primary serves, and a replica does not follow it yet. */
  replicasMissing: "ReplicasMissing",
  /** The operator cannot reach the primary, but its replicas can: nothing is done. */
  primaryUnreachable: "PrimaryUnreachable",
  /** The primary answers, but a script runs or it has all the clients that it may have: nothing is done. */
  primaryBusy: "PrimaryBusy",
  /** The primary is silent and must be stopped for certain before another is made. */
  fencing: "Fencing",
  /** A primary was chosen and is being made. */
  promoting: "Promoting",
  handingOver: "HandingOver",
  /** No server may become the primary without the risk of losing acknowledged writes. */
  primaryLost: "PrimaryLost",
  /** No server with data is left. */
  dataLost: "DataLost",
  scaling: "Scaling",
  rollingOut: "RollingOut",
  rolloutFailed: "RolloutFailed",
  /** The spec asks for smaller volumes than there are. */
  resizeRefused: "ResizeRefused",
  upgrading: "Upgrading",
  upgradeFailed: "UpgradeFailed",
  versionRefused: "VersionRefused",
  settingRefused: "SettingRefused",
  secretInvalid: "SecretInvalid",
  restoring: "Restoring",
  restoreFailed: "RestoreFailed",
  diskFull: "DiskFull",
  paused: "Paused",
  deleting: "Deleting",
  finalSnapshot: "FinalSnapshot",
  volumeKept: "VolumeKept",
} as const;

export type Reason = (typeof reasons)[keyof typeof reasons];
