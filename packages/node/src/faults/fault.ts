/** What can be made to go wrong, for tests and for people. */

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
}

/** Something that goes wrong with pods, volumes or nodes on purpose. */
export type Fault =
  /** Signals a pod's containers, or one of them. Default: SIGKILL. */
  | {
      readonly kind: "kill";
      readonly pod: PodRef;
      readonly container?: string;
      readonly signal?: NodeJS.Signals;
    }
  /** Stops every process where it is, or lets it go on. */
  | { readonly kind: "freeze"; readonly pod: PodRef; readonly container?: string; readonly frozen: boolean }
  /**
   * Cuts a pod's network: what it sends (`out`), what it is sent (`in`), or both; from everybody, the API server
   * and the name server included, or only from one other pod. The node's own probes still reach it.
   */
  | {
      readonly kind: "cut";
      readonly pod: PodRef;
      readonly direction: "in" | "out" | "both";
      readonly peer?: PodRef;
    }
  /** Undoes cuts: of one pod, or all. */
  | { readonly kind: "mend"; readonly pod?: PodRef }
  /** Delays new connections to a pod's ports, each way; 0 undoes it. Default ports: those that it declares. */
  | {
      readonly kind: "delay";
      readonly pod: PodRef;
      readonly delayMs: number;
      readonly ports?: readonly number[];
    }
  /** Fills a volume whose space is capped, but for `leaveBytes`. Default: 0. */
  | { readonly kind: "fillDisk"; readonly pod: PodRef; readonly volume: string; readonly leaveBytes?: number }
  | { readonly kind: "freeDisk"; readonly pod: PodRef; readonly volume: string }
  /**
   * Everything in a persistent volume is gone, as with its disk. `path` is its directory on this machine. Default: what
   * the node may know of the volume.
   */
  | { readonly kind: "loseVolume"; readonly volume: string; readonly path?: string }
  /** A node loses power: no process of its pods survives, and nobody is told. */
  | { readonly kind: "nodeDown"; readonly node: string }
  | { readonly kind: "nodeUp"; readonly node: string }
  /** A node loses the API server, which loses the node; its pods run on and keep their own ways. */
  | { readonly kind: "nodeCut"; readonly node: string }
  | { readonly kind: "nodeMend"; readonly node: string };

/** Faults of nodes; all others are of pods and their volumes. */
export type NodeFault = Extract<Fault, { readonly node: string }>;
