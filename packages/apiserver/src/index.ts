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
export { StatusError } from "./contracts/status-error.ts";
export { administrator } from "./server/authorizers.ts";
export { type ApiServer, type ApiServerOptions, apiServer } from "./server/server.ts";
export { StorageError, type StorageErrorCode } from "./storage/errors.ts";
