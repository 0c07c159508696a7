/** The embedded Kubernetes API server: in process, or on sockets. */
export { type ApiServerFlags, type RunningApiServer, runApiServer, startApiServer } from "./command/run.ts";
export { StatusError } from "./errors.ts";
export { type ApiServer, type ApiServerOptions, administrator, apiServer } from "./server.ts";
export { StorageError, type StorageErrorCode } from "./storage/errors.ts";
