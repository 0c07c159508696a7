/** The node: a kubelet of our own that runs pods as sandboxed processes. */
export { NodeError, type NodeErrorCode } from "./errors.ts";
export type {
  ContainerHandle,
  ContainerRuntime,
  ContainerSpec,
  ExecSession,
  PodSandbox,
  PodSandboxSpec,
} from "./runtime/container-runtime.ts";
