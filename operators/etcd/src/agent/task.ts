/** The task of an agent: the contract between the operator, which makes pods, and the process in them. */

import type { StoreLocation } from "@keelson/kit";

/** How to connect to the cluster's members. */
export interface MemberAccess {
  readonly hosts: readonly string[];
  readonly port: number;
  /** Where the client certificates are mounted. */
  readonly tls?: string;
  /** Where root's password is mounted. */
  readonly password?: string;
}

/** What a backup must satisfy before it is restored. */
export interface RestoreRequirements {
  /** The etcd version that is to read it. */
  readonly version: string;
  readonly verified: boolean;
}

export type AgentTask =
  | {
      readonly do: "copy";
      readonly store: StoreLocation;
      readonly name: string;
      readonly backupUid: string;
      readonly cluster: string;
      readonly members: MemberAccess;
    }
  | {
      readonly do: "fetch";
      readonly store: StoreLocation;
      readonly name: string;
      readonly file: string;
      readonly clear?: readonly string[];
      readonly requirements?: RestoreRequirements;
    }
  | {
      readonly do: "verify";
      readonly store: StoreLocation;
      readonly name: string;
      readonly scratch: MemberAccess;
      readonly members: MemberAccess;
    }
  | { readonly do: "adopt"; readonly from: string; readonly to: string; readonly file: string }
  | {
      readonly do: "remove";
      readonly store: StoreLocation;
      readonly name: string;
      readonly backupUid: string;
    };

/** The variable that carries the task, in JSON. */
export const taskVariable = "KEELSON_BACKUP_TASK";

/** What the agent leaves as the container's termination message, in JSON; at most 4096 bytes. */
export type AgentReport =
  | { readonly ok: true; readonly manifest?: import("../engine/snapshot-archive.ts").Manifest }
  | { readonly ok: false; readonly code: string; readonly message: string };
