/** Clusters in the background: light to load, because every command line goes through here. */
export { ClusterError, type ClusterErrorCode } from "../errors.ts";
export type { Fault, PodRef } from "../node/faults/fault.ts";
export { type ClusterFault, injectFault } from "./fault.ts";
export { type ClusterRecord, clusterNames, readRecord } from "./state.ts";
export { clusterDown, clusterUp, type UpOptions } from "./up.ts";
