/** What the agent is asked to do, and what it reports: the contract between the operator and the pods that it makes. */
import type { StoreLocation } from "@keelson/kit";
import type { RedisManifest } from "./manifest.ts";

/** The variable that holds the task as JSON. */
export const taskVariable = "SAMPLEDB_TASK";

/** Where the servers are, from the ConfigMap of the database. */
export const hostsVariable = "SAMPLEDB_HOSTS";
export const portVariable = "SAMPLEDB_PORT";

/** What the client of a drill takes from the binding Secret. */
export const bindingVariables = {
  host: "SAMPLEDB_BINDING_HOST",
  port: "SAMPLEDB_BINDING_PORT",
  password: "SAMPLEDB_BINDING_PASSWORD",
  authority: "SAMPLEDB_BINDING_CA",
} as const;

/** What lies on a volume beside its data. */
export const volumeState = {
  directory: ".keelson",
  /** Names the data that a restore has set aside, until it has put another in its place. */
  unfinished: "unfinished-restore",
  /** Tells this volume from any other. Who wipes it takes it away too. */
  identity: "identity",
} as const;

/** How the agent reaches Redis. Passwords are files that the kubelet mounts. */
export interface RedisAccess {
  /** Default: what the variables say. */
  readonly hosts?: readonly string[];
  readonly port?: number;
  readonly username: string;
  /** Without one no password is asked for. */
  readonly passwordFile?: string;
  readonly tls?: { readonly caFile: string; readonly serverName: string };
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly script: string;
}

/** Which backup, in which store. */
export interface BackupPlace {
  readonly store: StoreLocation;
  readonly name: string;
}

export type AgentTask =
  /** Applies the initial configuration on the servers and the primary. */
  | {
      readonly do: "initialize";
      readonly access: RedisAccess;
      readonly contentFile: string;
      readonly hash: string;
    }
  /** Copies a server's data into the store, and brings the copy back into a local file. */
  | (BackupPlace & {
      readonly do: "copy";
      readonly access: RedisAccess;
      /** From the primary, not from a replica. */
      readonly primary: boolean;
      readonly backupUid: string;
      readonly database: string;
      readonly file: string;
    })
  /** Compares what a scratch server has loaded with what the dump holds, and says so in the manifest. */
  | (BackupPlace & {
      readonly do: "verify";
      readonly access: RedisAccess;
      /** What redis-check-rdb said. */
      readonly checkFile: string;
    })
  /** Puts a backup in the place of a volume's data, which is set aside. */
  | {
      readonly do: "restore";
      readonly id: string;
      readonly from: (BackupPlace & { readonly allowUnverified: boolean }) | { readonly aside: string };
      /** The newest RDB format that the server reads. */
      readonly rdbVersion: number | undefined;
      readonly directory: string;
    }
  | (BackupPlace & { readonly do: "remove"; readonly backupUid: string })
  /** Brings a backup into a local file. */
  | (BackupPlace & { readonly do: "fetch"; readonly file: string })
  /** Compares what a scratch server of the version to come has loaded, and runs the migrations on it. */
  | {
      readonly do: "rehearse";
      readonly access: RedisAccess;
      /** What redis-check-rdb said. */
      readonly checkFile: string;
      readonly migrations: readonly Migration[];
    }
  /** Writes and reads for as long as it runs, see `keepLedger`. */
  | { readonly do: "ledger" }
  /** Runs the migrations on the primary. */
  | {
      readonly do: "migrate";
      readonly access: RedisAccess;
      readonly migrations: readonly Migration[];
      /** The number of replicas without which the primary takes no writes: only the migrations get past it. */
      readonly guard?: number;
    };

export type AgentReport =
  | { readonly ok: true; readonly manifest?: RedisManifest; readonly keys?: number; readonly aside?: string }
  | { readonly ok: false; readonly code: string; readonly message: string };
