/**
 * Stores alone, for processes that have nothing else of the kit beside them: what is exported here imports only Node.js.
 */
export { BackupError, type BackupErrorCode, isBackupError } from "../../errors.ts";
export { DirectoryStore } from "./directory-store.ts";
export { mountedKey, openStore, type StoreLocation } from "./open-store.ts";
export type { S3Options } from "./s3-requests.ts";
export { S3Store, type S3StoreOptions } from "./s3-store.ts";
export type { Credentials } from "./signature.ts";
export { type PutOptions, readAll, type Store, type StoredObject } from "./store.ts";
