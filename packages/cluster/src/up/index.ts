/** Clusters in the background: light to load, because every command line goes through here. */

export type { Fault, PodRef } from "@keelson/node/faults";
export { ClusterError, type ClusterErrorCode } from "../errors.ts";
export { type ClusterFault, injectFault } from "./fault.ts";
export { type ClusterRecord, clusterNames, readRecord } from "./state.ts";
export { clusterDown, clusterUp, type UpOptions } from "./up.ts";
