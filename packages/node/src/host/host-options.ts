/** What starts nodes, and what they are once they run. */
import type { Duplex } from "node:stream";
import type { Fault } from "../faults/fault.ts";

/** A path or a document. */
export type KubeconfigSource = string | Readonly<Record<string, unknown>>;

/** What nodes are started with. */
export interface NodeHostOptions {
  /**
   * Who all the nodes are. A function is asked once the namespace is made, so that a control plane can start while the
   * node does.
   */
  readonly kubeconfig?: KubeconfigSource | (() => Promise<KubeconfigSource>);
  /**
   * In place of `kubeconfig`: with this user, by a bootstrap token for example, each node asks for a certificate of its
   * own. It is `system:node:NAME` with it from then on, and renews it. Certificates are kept in the data directory.
   */
  readonly bootstrapKubeconfig?: KubeconfigSource | (() => Promise<KubeconfigSource>);
  /** One or more; they share one network. */
  readonly names: readonly string[];
  /** Logs, volumes and records of pods; gone with the nodes when not given. */
  readonly dataDirectory?: string;
  /** A /24 of it goes to each node. */
  readonly podCidr?: string;
  /** Default: found out from the cluster, as is the name server's address. */
  readonly serviceCidr?: string;
  readonly dnsAddress?: string;
  readonly clusterDomain?: string;
  readonly maxPods?: number;
  /** Most processes and threads of a pod. Default: 4096. */
  readonly podPidsLimit?: number;
  /** Kernel settings that pods may ask for beyond the safe ones, by name or with a star at the end. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** Where seccomp profiles of type Localhost are. Default: `seccomp` in the data directory. */
  readonly seccompDirectory?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * `auto` simulates pods only where this machine cannot run them, and says why; `always` and `never` decide.
   * Default: `auto`.
   */
  readonly simulate?: "auto" | "always" | "never";
  /** Serves service addresses without the kernel's packet filter even where there is one. */
  readonly userspaceServices?: boolean;
  /** How long containers may take to end by themselves when the nodes are stopped. Default: 0. */
  readonly stopGraceMs?: number;
  readonly onProgress?: (sentence: string) => void;
  readonly log?: (line: string) => void;
}

/** Nodes that run on this machine. Disposal ends every process of theirs. */
export interface NodeHost extends AsyncDisposable {
  readonly mode: "sandbox" | "simulated";
  /** Settles when the nodes end although nobody stopped them. */
  readonly failure: Promise<Error>;
  /** Makes something go wrong; throws `NotFound` or `Unsupported` in words. */
  inject(fault: Fault): Promise<void>;
  /**
   * A connection from outside to a pod or a service, through the cluster's own network. Rejects for every other address,
   * and when nobody answers.
   */
  dial(address: string, port: number, signal: AbortSignal): Promise<Duplex>;
  /** Ends every process of the nodes. */
  stop(): Promise<void>;
}
