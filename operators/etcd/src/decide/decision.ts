/** One thing to do next. What must be stored before it is acted on is a `record`. */

import type { Status, Template } from "../api/cluster.ts";
import type { Reason } from "../api/conditions.ts";
import type { Alarm, MemberId } from "../engine/etcd.ts";
import type { Observed } from "../observe/observed.ts";
import type { StartMode } from "../resources/flags.ts";
import type { RestoreSource } from "../resources/restore-containers.ts";

export type Action =
  /** Stores an intent or a fact; nothing else happens in this pass. Default event: the message. */
  | { readonly do: "record"; readonly status: Partial<Status>; readonly event?: string }
  | { readonly do: "createClaim"; readonly member: string }
  /** Annotates the claim with the identity of its data. */
  | { readonly do: "signClaim"; readonly member: string }
  | { readonly do: "createPods"; readonly pods: readonly PodPlan[] }
  | {
      readonly do: "deletePods";
      readonly members: readonly string[];
      /** Its node is lost and cannot confirm the termination. */
      readonly now?: boolean;
    }
  /** Sets how a running pod's container starts next time, and that its member votes. */
  | { readonly do: "markVoter"; readonly member: string }
  /** Puts back labels and owners that someone changed. */
  | { readonly do: "repairPod"; readonly member: string }
  | { readonly do: "repairClaim"; readonly member: string }
  | { readonly do: "deleteClaim"; readonly member: string }
  | { readonly do: "fenceClaim"; readonly member: string }
  | { readonly do: "growClaim"; readonly member: string }
  | { readonly do: "addLearner"; readonly member: string; readonly via: string }
  | { readonly do: "promote"; readonly member: string; readonly id: MemberId; readonly via: string }
  | { readonly do: "removeMember"; readonly member: string; readonly id: MemberId; readonly via: string }
  | { readonly do: "moveLeader"; readonly from: string; readonly to: string; readonly toId: MemberId }
  /** Tries the template: a dry run by the API server, then a trial pod that shows whether the image runs. */
  | { readonly do: "tryTemplate"; readonly template: Template }
  | { readonly do: "endTrials" }
  | { readonly do: "compareHashes"; readonly purpose: string; readonly members: readonly string[] }
  | {
      readonly do: "makeSpace";
      /** Who is asked to drop history and to lift the alarm: one that has a leader. */
      readonly via: string;
      readonly members: readonly string[];
      /** History up to here is dropped: the newest of all, which the member that is asked may not have reached. */
      readonly revision: bigint;
      readonly alarms: readonly Alarm[];
      readonly quota: bigint;
    }
  | { readonly do: "disarm"; readonly alarms: readonly Alarm[]; readonly via: string }
  | { readonly do: "defragment"; readonly member: string; readonly due: string }
  | { readonly do: "enableAuthentication"; readonly via: string }
  | { readonly do: "changePassword"; readonly via: string }
  | { readonly do: "wait"; readonly recheckMs?: number }
  /** Waiting does not help: the user must change something. */
  | { readonly do: "refuse" }
  | { readonly do: "nothing" };

export interface PodPlan {
  readonly member: string;
  readonly template: Template;
  readonly start: StartMode;
  readonly role: "voter" | "learner";
  /** Fills the volume from a backup before etcd starts. */
  readonly restore?: RestoreSource;
}

export type Decision = Action & { readonly reason: Reason; readonly message: string };

/** Decides, or returns undefined to leave the decision to the next policy. */
export type Policy = (observed: Observed) => Decision | undefined;
