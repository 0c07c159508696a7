/** Conditions beside Ready, Reconciling and Stalled, and every reason that is told. */
export const conditions = {
  /** A primary accepts writes. */
  available: "Available",
  /** Enough standbys stream for a failover that loses nothing. */
  protected: "Protected",
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
  rollingOut: "RollingOut",
  scalingDown: "ScalingDown",
} as const;

export type Reason = (typeof reasons)[keyof typeof reasons];
