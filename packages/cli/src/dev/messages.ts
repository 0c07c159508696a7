/** What `keelson dev` and the process of the operator say to each other. */
import type { ReconcileReport } from "@keelson/runtime/internal";

/** A kind of the operator's own, enough to watch it. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly scope: "Namespaced" | "Cluster";
}

/** To the operator's process: import the entry and apply its CRDs; then, once its predecessor is gone, start. */
export type ToOperator =
  /** `installed`: a fingerprint of the CRDs that the cluster has already. */
  { readonly type: "load"; readonly installed: string } | { readonly type: "start" };

/** From the operator's process. */
export type FromOperator =
  /** Everything but the project's own modules is loaded. */
  | { readonly type: "warm" }
  | {
      readonly type: "loaded";
      readonly name: string;
      readonly kinds: readonly KindName[];
      /** The kind of each controller, by the controller's name. */
      readonly controllers: Readonly<Record<string, string>>;
      readonly webhooks: number;
    }
  /** The project's modules cannot be imported, or its CRDs are refused. */
  | { readonly type: "broken"; readonly text: string }
  | { readonly type: "installed"; readonly crds: string; readonly kinds: readonly string[] }
  /** Every cache is complete: the operator works. `cpuMs`: what its process has computed for that since `load`. */
  | { readonly type: "working"; readonly cpuMs: number }
  | { readonly type: "reconciled"; readonly report: ReconcileReport };
