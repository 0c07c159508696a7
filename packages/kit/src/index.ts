/** What every database operator needs. */

export { type Kept, outlived } from "./backup/retention.ts";
export { DirectoryStore } from "./backup/store/directory-store.ts";
export { S3Store } from "./backup/store/s3-store.ts";
export { type PutOptions, readAll, type Store, type StoredObject } from "./backup/store/store.ts";
export { BackupError, isBackupError, isTerminal } from "./errors.ts";
