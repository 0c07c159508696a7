/** The embedded Kubernetes API server: in process, or on sockets. */
export {
  type ApiServerFlags,
  type ApiServerPorts,
  type RunningApiServer,
  runApiServer,
  startApiServer,
} from "./command/run.ts";
export type { ClusterDialer } from "./contracts/dialer.ts";
export { FlagError } from "./contracts/flags.ts";
export type { ApiObject } from "./contracts/object.ts";
export { StatusError } from "./contracts/status-error.ts";
export { administrator } from "./server/authorizers.ts";
export { type ApiServer, type ApiServerOptions, apiServer } from "./server/server.ts";
export type { StoredObjects } from "./server/stored-objects.ts";
export { StorageError, type StorageErrorCode } from "./storage/errors.ts";
export type { Snapshot } from "./storage/store.ts";
export type { EventType, StoreEvent } from "./storage/table.ts";
