/** The embedded cluster: an API server, controllers, and nodes that run real pods. */

export type { Fault, PodRef } from "@keelson/node/faults";
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
export { ClusterError, type ClusterErrorCode } from "./errors.ts";
export { type ClusterFault, injectFault } from "./up/fault.ts";
export { type ClusterRecord, clusterNames, readRecord } from "./up/state.ts";
export { clusterDown, clusterUp, type UpOptions } from "./up/up.ts";
