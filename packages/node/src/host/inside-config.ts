/** What the process inside the namespace is told by the one outside. */
import type { IdMode } from "@keelson/machine";
import type { SandboxTools } from "../runtime/sandbox-runtime.ts";

export interface InsideNode {
  readonly name: string;
  readonly podCidr: string;
  /** The address of the machine's loopback where this node's API is reached. */
  readonly reachableAs: string;
  /** The port of that address, and of the node's own address in the cluster. */
  readonly kubeletPort: number;
  /** The Unix socket that the node serves its API on. */
  readonly kubeletSocket: string;
  readonly dataDirectory: string;
  /** Holds the node's certificate and key. */
  readonly identityDirectory: string;
}

/** What sandboxes are made with: known before there is an API server to join. */
export interface InsideSandboxes {
  readonly runDirectory: string;
  readonly tools: SandboxTools & { readonly nft?: string };
  readonly ids: IdMode;
  /** The first node's address as pods see it. */
  readonly gateway: string;
  /** Name of the control group of all pods. */
  readonly group: string;
}

export interface InsideConfig extends InsideSandboxes {
  readonly nodes: readonly InsideNode[];
  /** In its own notation; its server is a relay inside the namespace. */
  readonly kubeconfig: Readonly<Record<string, unknown>>;
  /** Whether that is only for asking for certificates. */
  readonly bootstrap: boolean;
  /** The Unix socket of the relay to the API server. */
  readonly apiSocket: string;
  /** Connections from the machine into the cluster's network come in here. */
  readonly dialSocket: string;
  /** Where the cluster's own word is not enough. */
  readonly dnsAddress?: string;
  readonly serviceCidr?: string;
  readonly clusterDomain: string;
  readonly maxPods?: number;
  readonly podPidsLimit?: number;
  readonly allowedUnsafeSysctls?: readonly string[];
  readonly seccompDirectory: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** PEM of the authority that signs the API server's own client certificate. */
  readonly clientCa?: string;
}

/** The port, on the namespace's own loopback, that leads to the API server. */
export const insideApiPort = 6443;
