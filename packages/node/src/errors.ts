/** Everything that can go wrong while the node sets up or runs pods. */

export type NodeErrorCode =
  /** This machine does not allow the namespaces that sandboxes are made of. */
  | "SandboxUnsupported"
  /** The pod's network or namespaces could not be made. */
  | "SandboxFailed"
  /** A container could not be started: reason and message go to its status. */
  | "ContainerCannotRun"
  /** Something that a container needs is absent or malformed (a secret, a key, a field). */
  | "ContainerConfig"
  /** A volume could not be set up. */
  | "MountFailed"
  /** The command line or the configuration of the node is wrong. */
  | "BadConfiguration"
  /** The control plane does not give the node an identity of its own. */
  | "IdentityRefused"
  /** A fault keeps the node from the API server. */
  | "CutOff"
  /** An address is not the cluster's own, or nobody answers there. */
  | "Unreachable"
  /** What was asked for is not here (container, pod, log). */
  | "NotFound"
  /** This machine cannot do it, and the message says what would make it possible. */
  | "Unsupported";

/** Why a node cannot do what it is asked, by code. */
export class NodeError extends Error {
  readonly code: NodeErrorCode;

  constructor(code: NodeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "NodeError";
    this.code = code;
  }
}
