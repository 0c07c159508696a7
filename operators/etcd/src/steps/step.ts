/** What every step is given, and what the steps that speak to etcd have in common. */
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { Decision } from "../decide/decision.ts";
import { EtcdError, type EtcdErrorCode, isEtcdError } from "../engine/errors.ts";
import type { Etcd } from "../engine/etcd.ts";
import type { Gathered } from "../observe/observe.ts";
import type { EtcdContext } from "../resources/declaration.ts";

/** What a pass has seen, and of what. */
export interface Pass {
  readonly cluster: EtcdClusterObject;
  readonly ctx: EtcdContext;
  readonly gathered: Gathered;
  /** Told of everything that was done. */
  readonly onAction: (action: Decision["do"]) => void;
}

/** What every step is given. */
export interface Scene extends Pass {
  /** Makes an event on the cluster. A step that tells none is told by the reason and the message of its decision. */
  readonly tell: EtcdContext["event"];
}

/** A step that was refused for now is met again by the next pass. */
export type StepResult = "done" | "refused";

/** The decision to do one particular thing. */
export type Doing<D extends Decision["do"]> = Extract<Decision, { do: D }>;

/** What passes by itself. The next pass looks at the state and not at the answer. */
const passing: readonly EtcdErrorCode[] = [
  "LearnerNotReady",
  "MemberNotFound",
  "NoLeader",
  "NotLeader",
  "TooManyLearners",
  "UnhealthyCluster",
  "Unreachable",
];

/** The client of a member that answered in this pass. */
export function etcdOf({ gathered }: Scene, member: string): Etcd {
  const etcd = gathered.answers.etcd(member);
  if (etcd) return etcd;
  throw new EtcdError("Unreachable", `${member} did not answer in this pass`);
}

export async function attempt(
  scene: Scene,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<StepResult> {
  try {
    await work(scene.ctx.signal);
    return "done";
  } catch (error) {
    if (!isEtcdError(error, ...passing)) throw error;
    scene.ctx.log.debug("etcd does not do it now", { code: error.code, message: error.message });
    return "refused";
  }
}
