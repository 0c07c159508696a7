/** What every step is given, and what the steps that call etcd have in common. */
import { objectionTo } from "@keelson/kit";
import { EtcdCluster, type EtcdClusterObject } from "../api/cluster.ts";
import type { Decision } from "../decide/decision.ts";
import { EtcdError, type EtcdErrorCode, isEtcdError } from "../engine/errors.ts";
import type { Etcd } from "../engine/etcd.ts";
import type { Gathered } from "../observe/observe.ts";
import type { EtcdContext } from "../resources/declaration.ts";

/** One reconcile of a cluster, and what it has observed. */
export interface Pass {
  readonly cluster: EtcdClusterObject;
  readonly ctx: EtcdContext;
  readonly gathered: Gathered;
  /** Called after every action, for the metrics. */
  readonly onAction: (action: Decision["do"]) => void;
}

/** What every step is given. */
export interface StepContext extends Pass {
  /** Records an event on the cluster. Default for a step that records none: reason and message of its decision. */
  readonly event: EtcdContext["event"];
}

/** A step that was refused for now, with the reason as a sentence, is decided again by the next pass. */
export type StepResult = "done" | { readonly refused: string };

/** The decision to do one particular thing. */
export type DecisionTo<D extends Decision["do"]> = Extract<Decision, { do: D }>;

/** Errors that go away by themselves. The next pass looks at the state and not at the answer. */
const transient: readonly EtcdErrorCode[] = [
  "LearnerNotReady",
  "MemberNotFound",
  "NoLeader",
  "NotLeader",
  "TooManyLearners",
  "UnhealthyCluster",
  "Unreachable",
];

/** The client of a member that answered in this pass. */
export function etcdOf({ gathered }: StepContext, member: string): Etcd {
  const etcd = gathered.answers.etcd(member);
  if (etcd) return etcd;
  throw new EtcdError("Unreachable", `${member} did not answer in this pass`);
}

/**
 * Why nothing may be done any more by what a pass decided, as a sentence: members that do not answer hold up a pass for
 * seconds, and a cache may be late. So the cluster is asked for past every cache.
 */
export async function objectionNow({
  cluster,
  ctx,
}: Pick<Pass, "cluster" | "ctx">): Promise<string | undefined> {
  return objectionTo(cluster, await liveCluster(cluster, ctx));
}

/** The same before something that the next pass could not take back: only the very spec that was decided by will do. */
export async function changeOfSpec({
  cluster,
  ctx,
}: Pick<Pass, "cluster" | "ctx">): Promise<string | undefined> {
  const live = await liveCluster(cluster, ctx);
  const isSame = live?.metadata.generation === cluster.metadata.generation;
  return objectionTo(cluster, live) ?? (isSame ? undefined : "the spec has changed meanwhile");
}

async function liveCluster({ metadata }: EtcdClusterObject, { client }: EtcdContext) {
  const { namespace, name } = metadata;
  return await client.kind(EtcdCluster).find({ namespace, name });
}

export async function attempt(
  step: StepContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<StepResult> {
  try {
    step.ctx.assertLeading();
    await work(step.ctx.signal);
    return "done";
  } catch (error) {
    if (!isEtcdError(error, ...transient)) throw error;
    step.ctx.log.info("etcd refused the change for now", { code: error.code, message: error.message });
    return { refused: error.message };
  }
}
