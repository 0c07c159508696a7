/** What the agent is asked to do, and what it reports: the contract between the operator and the pods that it makes. */

/** The variable that holds the task as JSON. */
export const taskVariable = "SAMPLEDB_TASK";

/** How the agent reaches Redis. Passwords are files that the kubelet mounts. */
export interface RedisAccess {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly username: string;
  readonly passwordFile: string;
  readonly tls?: { readonly caFile: string; readonly serverName: string };
}

export type AgentTask =
  /** Applies the initial configuration on the servers and the primary. */
  {
    readonly do: "initialize";
    readonly access: RedisAccess;
    readonly contentFile: string;
    readonly hash: string;
  };

export type AgentReport =
  | { readonly ok: true; readonly [key: string]: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };
