/** What a pass has seen, in the words of its decisions. Plain data: everything below `decide/` works on it alone. */
import type { BackupStore } from "@keelson/kit";
import type { Reason } from "../api/conditions.ts";
import type { Spec, Status } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import type { DatabaseName } from "../resources/names.ts";

/**
 * How a server answered. `refused` proves that the process is gone; `silent` proves nothing; `busy` proves that it lives,
 * though it does not do what the operator asks: a script runs, or it has all the clients that it may have. One that is
 * `denied` does not know the operator's password, and one that is `untrusted` presents a certificate that nobody knows.
 */
export type Answer =
  | { readonly state: "facts"; readonly facts: ServerFacts }
  | {
      readonly state: "loading" | "refused" | "silent" | "denied" | "untrusted" | "busy";
      readonly message: string;
    };

export interface PodView {
  readonly uid: string;
  readonly ip: string | undefined;
  readonly node: string | undefined;
  readonly createdMs: number;
  readonly ready: boolean;
  readonly deleting: boolean;
  /** The Secret with the certificate that it presents: then it speaks TLS only. Undefined without TLS. */
  readonly tls: string | undefined;
  /** Its process is not running, as the kubelet says. */
  readonly stopped: boolean;
  /** It has ended and will not start again. */
  readonly ended: boolean;
  readonly template: string;
  readonly role: string;
  readonly read: boolean;
  /** Its labels are no longer those that the Services and the StatefulSet select. */
  readonly mislabelled: boolean;
  /** Why it does not start. */
  readonly obstacle: string | undefined;
}

export interface ClaimView {
  readonly uid: string;
  readonly deleting: boolean;
  readonly bound: boolean;
  readonly lost: boolean;
  readonly volume: string | undefined;
  readonly requested: string;
  /** The newest epoch whose data it holds; 0 when it was found empty. */
  readonly epoch: number | undefined;
  readonly primaryEpoch: number | undefined;
  /** The identity of the volume that its marks speak of; empty after a restore, which does not know it. */
  readonly identity: string | undefined;
  /** In how many databases its data may be. */
  readonly databases: number | undefined;
  /** The restore that its data came from, and those before it. */
  readonly restored: string | undefined;
  /** The version that wrote its data last. */
  readonly version: string | undefined;
  readonly database: string | undefined;
  readonly needsRestart: boolean;
}

export interface Server {
  readonly name: string;
  readonly ordinal: number;
  readonly pod: PodView | undefined;
  readonly claim: ClaimView | undefined;
  readonly answer: Answer | undefined;
  /** For how long it has not answered, as far as this operator knows. */
  readonly silentMs: number;
  /** For how long it has been busy. Silence meanwhile does not end that. */
  readonly busyMs: number;
  readonly nodeLost: boolean;
  readonly nodeCordoned: boolean;
}

/** Where data to restore is. */
export type RestoreSource =
  | { readonly store: BackupStore; readonly name: string; readonly allowUnverified: boolean }
  | { readonly aside: string };

/** The restore that the spec asks for. */
export interface RestoreWish {
  readonly id: string;
  /** Where the data is, or why it cannot be had. */
  readonly source: RestoreSource | { readonly problem: string; readonly final: boolean };
  readonly keys: number | undefined;
}

export interface JobView {
  readonly key: string;
  readonly state: "running" | "succeeded" | "failed";
  /** When it failed. */
  readonly failedMs?: number;
  /** What kind of failure it was, as its last pod says. */
  readonly reason?: string;
  readonly message: string;
}

export interface Observed {
  readonly nowMs: number;
  readonly database: DatabaseName;
  readonly generation: number;
  readonly spec: Spec;
  readonly status: Status;
  /** By ordinal: those that should be, and those that are there still. */
  readonly servers: readonly Server[];
  /** How many servers the StatefulSet makes; undefined when there is none. */
  readonly setReplicas: number | undefined;
  /** Digest of the template that new pods are made from. */
  readonly setTemplate: string | undefined;
  /** Digest of what the spec asks for at the version that servers are to run. */
  readonly wantedTemplate: string;
  /** The wanted template is tried on a pod of its own; servers keep theirs meanwhile. */
  readonly trial: { readonly state: "running" | "failed"; readonly message: string } | undefined;
  readonly jobs: readonly JobView[];
  readonly initHash: string;
  /** The newest migration that ran, asked of the primary when the Job of `initHash` has ended; undefined without an answer. */
  readonly schemaVersion: number | undefined;
  /** Why the spec cannot be followed, in a sentence. */
  readonly specProblem: { readonly reason: Reason; readonly message: string } | undefined;
  /** Followers that the primary does not see any more, and its offset when that was first so. */
  readonly departures: ReadonlyMap<string, bigint>;
  /** Every follower has all that the primary had when the spec first asked for this many acknowledgements. */
  readonly caughtUp: boolean;
  readonly restore: RestoreWish | undefined;
  /** Backups that the operator made for a purpose, by key. */
  readonly backups: ReadonlyMap<string, { readonly phase: string | undefined; readonly message: string }>;
  /** Migrations that only the version of the spec runs. */
  readonly migrationsDue: number;
  readonly approvedLoss: string | undefined;
  readonly handOverTo: string | undefined;
}

export function factsOf({ answer }: Server): ServerFacts | undefined {
  return answer?.state === "facts" ? answer.facts : undefined;
}
