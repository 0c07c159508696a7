/** What a policy says: what to do in this pass, what to remember, and what keeps the database from being ready. */

import type { Reason } from "../api/conditions.ts";
import type { Status } from "../api/sampledb.ts";
import type { RestoreSource } from "../observe/observed.ts";

/** One thing to do. Each can be done twice without harm: its answer may have been lost. */
export type Action =
  /** Makes the server the primary, if it still is the process that was chosen. */
  | { readonly do: "promote"; readonly server: string; readonly runId: string }
  /** Makes servers replicas of an address. `drop` ends their clients' connections, which are in the wrong place. */
  | {
      readonly do: "follow";
      readonly servers: readonly string[];
      readonly ip: string;
      readonly drop: boolean;
    }
  /** Takes servers away from their primary, so that their offsets do not change any more. */
  | { readonly do: "detach"; readonly servers: readonly string[] }
  /**
   * Has the replica receive every write and lead, if it still is that process; then the primary follows it. Before it
   * takes writes its claim is marked with the epoch.
   */
  | {
      readonly do: "handOver";
      readonly from: string;
      readonly to: string;
      readonly runId: string;
      readonly epoch: number;
    }
  | { readonly do: "setGuard"; readonly server: string; readonly guard: number }
  | {
      readonly do: "label";
      readonly server: string;
      readonly role: "primary" | "replica" | null;
      readonly read: boolean;
    }
  | {
      readonly do: "markClaim";
      readonly server: string;
      readonly epoch: number;
      readonly primaryEpoch?: number;
      readonly identity?: string;
      readonly databases?: number;
      readonly restored?: string;
      readonly version?: string;
    }
  /** By UID, and with a second of grace when a silent process must end. */
  | {
      readonly do: "deletePod";
      readonly server: string;
      readonly uid: string;
      readonly graceSeconds?: number;
      readonly why: string;
    }
  | { readonly do: "startInit"; readonly hash: string }
  /** What they did does not count any more; another of the same name may follow. */
  | { readonly do: "deleteJobs"; readonly keys: readonly string[] }
  /** Takes a backup under that key. */
  | { readonly do: "startBackup"; readonly key: string; readonly name: string }
  /** Loads the backup in the version to come, and rehearses the migrations on it. */
  | { readonly do: "startRehearsal"; readonly id: string; readonly backup: string; readonly version: string }
  /** Runs the migrations of the version to come on this server. */
  | { readonly do: "startMigrations"; readonly id: string; readonly server: string }
  /** Ends writes on a primary, and has the replica receive all of them and lead. It takes none before it is recorded. */
  | {
      readonly do: "switchOver";
      readonly from: string;
      readonly to: string;
      readonly runId: string;
      /** The Services lead to it; otherwise something else must be done first. */
      readonly open: boolean;
    }
  /** Lets the primary take writes again. */
  | { readonly do: "resume"; readonly server: string }
  | {
      readonly do: "startRestore";
      readonly id: string;
      readonly server: string;
      readonly from: RestoreSource;
    }
  | { readonly do: "deleteClaim"; readonly server: string; readonly uid: string; readonly why: string };

/** Why the database is not ready, and whether that ends by itself. */
export interface NotReady {
  readonly state: "waiting" | "failed";
  readonly reason: Reason;
  readonly message: string;
  readonly recheckMs?: number;
}

export interface Told {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/**
 * Actions run before `status` is stored. So what must be recorded before it is done is recorded by one pass and done by
 * the next. Only `opens` comes after it in the same pass, since clients wait for it.
 */
export interface Plan {
  readonly actions?: readonly Action[];
  readonly status?: Partial<Status>;
  /** The server that takes writes from now on. */
  readonly opens?: string;
  readonly events?: readonly Told[];
  readonly notReady?: NotReady;
  /** What was decided is not asked for any more: nothing else is done in this pass. Default: false. */
  readonly dropped?: boolean;
}

/** What a promotion is said to lose where a person named the server. */
export const approvedByPerson = "approved by a person";

export function waitingFor(reason: Reason, message: string, recheckMs = 1_000): NotReady {
  return { state: "waiting", reason, message, recheckMs };
}
