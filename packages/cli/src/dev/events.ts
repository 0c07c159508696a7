/** Everything that happens under `keelson dev`, in the order in which it is shown. */
import type { ReconcileReport } from "@keelson/runtime/internal";
import type { Diagnostic } from "./type-check.ts";

/** A resource of the operator's own, as far as it is shown. */
export interface ResourceRow {
  readonly kind: string;
  readonly key: string;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** The condition Ready; undefined before there is one. */
  readonly ready?: "True" | "False" | "Unknown";
  /** Waiting cannot help: a person must change something. */
  readonly stalled: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** Conditions of the operator's own, beside Ready, Reconciling and Stalled: `BackupHealthy=False (NoBackup)`. */
  readonly conditions: readonly string[];
  /** `Deployment example` and so on: its children by the inventory in its status. */
  readonly children: readonly string[];
}

export type DevEvent =
  | { readonly type: "progress"; readonly sentence: string }
  | {
      readonly type: "cluster";
      readonly name: string;
      readonly server: string;
      readonly kubeconfig: string;
      readonly pods: "real" | "simulated" | "none";
    }
  /** Files were saved; the operator is loaded again. */
  | { readonly type: "changed"; readonly files: readonly string[] }
  | {
      readonly type: "loaded";
      readonly name: string;
      readonly kinds: readonly string[];
      readonly controllers: Readonly<Record<string, string>>;
      readonly webhooks: number;
    }
  | { readonly type: "installed"; readonly kinds: readonly string[] }
  /** The operator works; `ms` after the start or the save. */
  | {
      readonly type: "working";
      readonly ms: number;
      readonly cpuMs: number;
      readonly files: readonly string[];
    }
  /** The code cannot be loaded. `goesOn`: the version before is still at work. */
  | { readonly type: "broken"; readonly text: string; readonly goesOn: boolean }
  | { readonly type: "ended"; readonly how: string }
  | { readonly type: "checking" }
  | { readonly type: "types"; readonly found: readonly Diagnostic[] }
  | { readonly type: "resource"; readonly row: ResourceRow }
  | { readonly type: "deleted"; readonly kind: string; readonly key: string }
  | { readonly type: "reconciled"; readonly report: ReconcileReport; readonly kind: string }
  | { readonly type: "log"; readonly level: string; readonly text: string }
  | { readonly type: "applied"; readonly what: string; readonly refused?: string };
