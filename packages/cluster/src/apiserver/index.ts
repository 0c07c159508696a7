/** The embedded Kubernetes API server: in process, or on sockets. */
export { type ApiServer, type ApiServerOptions, administrator, apiServer } from "./server.ts";
