/** What every database operator needs: backups, certificates, pods. For tests see `@keelson/kit/testing`. */

export { databaseBackoff } from "./backoff.ts";
export { type ArchiveFormat, BackupArchive, type BackupSource } from "./backup/archive.ts";
export {
  type AttemptStatus,
  afterFailedAttempt,
  type BackupFailure,
  type BackupRecord,
  failedBackup,
  hasBackupEnded,
  pauseBeforeAttempt,
} from "./backup/attempts.ts";
export { checkedContent, type Digest, withDigest } from "./backup/digest.ts";
export {
  type BackupHealth,
  backupHealth,
  backupHealthReasons,
  backupHealthyCondition,
  type LatestBackup,
  type ScheduleFacts,
  scheduleHealth,
} from "./backup/health.ts";
export { backupName, type Manifest, manifestFields } from "./backup/manifest.ts";
export {
  type BackupRemoval,
  backupRemovalSchema,
  carryOutRemoval,
  decideRemoval,
  type RemovalDecision,
  type RemovalSteps,
  type RemoverView,
} from "./backup/removal.ts";
export { expiredBackups, type RetainedBackup, type RetentionPolicy } from "./backup/retention.ts";
export {
  backupStamp,
  type Calendar,
  decideSchedule,
  type ScheduleDecision,
  type ScheduleState,
} from "./backup/schedule.ts";
export { DirectoryStore } from "./backup/store/directory-store.ts";
export {
  type BackupStore,
  backupStoreSchema,
  type MountedVolume,
  mountSecret,
  mountStore,
} from "./backup/store/location.ts";
export { mountedKey, openStore, type StoreLocation } from "./backup/store/open-store.ts";
export type { S3Options } from "./backup/store/s3-requests.ts";
export { S3Store, type S3StoreOptions } from "./backup/store/s3-store.ts";
export type { Credentials } from "./backup/store/signature.ts";
export { type PutOptions, readAll, type Store, type StoredObject } from "./backup/store/store.ts";
export {
  type Authority,
  type AuthorityFacts,
  advanceAuthority,
  expiryOf,
  issuerOf,
  newAuthority,
  trustBundle,
  trustDigest,
} from "./certificates/authority.ts";
export {
  type KeepAuthorityOptions,
  type KeepLeafOptions,
  type KeptAuthority,
  keepAuthority,
  keepLeaf,
  type SecretSlot,
} from "./certificates/keep.ts";
export { isCompleteLeaf, type Leaf, type LeafSpec, leafFor } from "./certificates/leaf.ts";
export { type InspectCertificate, presentedCertificate } from "./certificates/presented.ts";
export {
  type CertificateAnnotations,
  CertificateSecrets,
  type SecretIdentity,
  type SecretInput,
  type SecretObject,
  secretKeyPair,
  secretText,
  tlsSecretKeys,
} from "./certificates/secrets.ts";
export type { ClientReport } from "./drill/decide-drill.ts";
export { type DrillKind, type DrillObject, drillKind, type Fault } from "./drill/drill.ts";
export { type DrillClient, type DrillOptions, drillController } from "./drill/drill-controller.ts";
export { BackupError, type BackupErrorCode, isBackupError, isTerminalBackupCode } from "./errors.ts";
export { objectionTo, type Pausable } from "./objection.ts";
export { ownStatus, type RuntimeStatusKey } from "./own-status.ts";
export { type PodOptions, podOptionsSchema, podPlacement } from "./pod-options.ts";
export { restrictedContainer, restrictedPod, restrictedPodWithoutVolumes } from "./pod-security.ts";
export { wereReleased } from "./released.ts";
export { templateHash } from "./template-hash.ts";
export { compareVersions, isNewerMinor, minorOf, parseVersion, type Version } from "./version.ts";
export {
  type DataOwner,
  type EventClient,
  KeptVolumes,
  type VolumeAnnotations,
  type VolumeClient,
} from "./volumes/kept-volumes.ts";
