/** Conditions beside Ready, Reconciling and Stalled, and every reason that is told. */
export const conditions = {
  /** A primary accepts writes. */
  available: "Available",
  /** Enough standbys stream for a failover that loses nothing. */
  protected: "Protected",
  /** Every volume has room. */
  storageHealthy: "StorageHealthy",
  /** The data is of the major version that the spec asks for. */
  upToDate: "UpToDate",
} as const;

export const reasons = {
  running: "Running",
  paused: "Paused",
  hibernated: "Hibernated",
  initialising: "Initialising",
  startingReplicas: "StartingReplicas",
  noPrimary: "NoPrimary",
  failoverBlocked: "FailoverBlocked",
  primaryStarting: "PrimaryStarting",
  replicasMissing: "ReplicasMissing",
  podObstacle: "PodObstacle",
  secretMissing: "SecretMissing",
  invalidSpec: "InvalidSpec",
  deleting: "Deleting",
  dataMissing: "DataMissing",
  noImage: "OperatorImageUnknown",
  sqlFailed: "RolesNotApplied",
  asynchronous: "Asynchronous",
  dataExists: "DataExists",
  backupPending: "BackupPending",
  finalBackupFailed: "FinalBackupFailed",
  settingsRefused: "SettingsRefused",
  volumeNotGrown: "VolumeNotGrown",
  diskFull: "DiskFull",
  volumesKept: "VolumesKept",
  rollingOut: "RollingOut",
  scalingDown: "ScalingDown",
  upgrading: "Upgrading",
  restoring: "Restoring",
  restoreFailed: "RestoreFailed",
  upgradeFailed: "UpgradeFailed",
  downgradeRefused: "DowngradeRefused",
} as const;

export type Reason = (typeof reasons)[keyof typeof reasons];
