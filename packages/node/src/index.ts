/** The node: a kubelet of our own that runs pods as sandboxed processes. */
export { NodeError, type NodeErrorCode } from "./errors.ts";
export type { Fault, PodRef } from "./faults/fault.ts";
export { type NodeFlags, runNode } from "./host/command.ts";
export type { NodeHost, NodeHostOptions } from "./host/host-options.ts";
export { startNodes } from "./host/node-host.ts";
export { superviseNodes } from "./host/supervised.ts";
