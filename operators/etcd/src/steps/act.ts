/** Does what was decided. One file per topic does the work; this is who does what. */
import { done, fail, type Outcome, waiting } from "keelson";
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { Decision } from "../decide/decision.ts";
import type { EtcdContext } from "../declaration.ts";
import type { Gathered } from "../observe/observe.ts";
import { createClaim, deleteClaim, fenceClaim, growClaim, signClaim } from "./claims.ts";
import { compareHashes, defragment, disarm, makeSpace } from "./maintenance.ts";
import { addLearner, moveLeader, promote, removeMember } from "./membership.ts";
import { createPods, deletePods, markVoter } from "./pods.ts";
import { beginRollout } from "./rollout.ts";

/** What every step is given. */
export interface Scene {
  readonly cluster: EtcdClusterObject;
  readonly ctx: EtcdContext;
  readonly gathered: Gathered;
}

/** How soon to look again after something was done; at rest members are asked this often though nothing changed. */
const soonMs = 200;
const restMs = 10_000;

export async function act(scene: Scene, decision: Decision): Promise<Outcome> {
  const { reason, message } = decision;
  switch (decision.do) {
    case "nothing":
      return done({ message, recheckMs: restMs });
    case "refuse":
      scene.ctx.recheck(restMs);
      return fail(reason, message);
    case "wait":
      return waiting(reason, message, { recheckMs: decision.recheckMs ?? 1_000 });
    case "record":
      if (decision.event !== undefined) scene.ctx.event("Normal", reason, decision.event);
      return waiting(reason, message, { recheckMs: 0 });
    default:
      await perform(scene, decision);
      return waiting(reason, message, { recheckMs: soonMs });
  }
}

async function perform(scene: Scene, decision: Decision): Promise<void> {
  switch (decision.do) {
    case "createClaim":
      return await createClaim(scene, decision);
    case "signClaim":
      return await signClaim(scene, decision);
    case "growClaim":
      return await growClaim(scene, decision);
    case "fenceClaim":
      return await fenceClaim(scene, decision);
    case "deleteClaim":
      return await deleteClaim(scene, decision);
    case "createPods":
      return await createPods(scene, decision);
    case "deletePods":
      return await deletePods(scene, decision);
    case "markVoter":
      return await markVoter(scene, decision);
    case "addLearner":
      return await addLearner(scene, decision);
    case "promote":
      return await promote(scene, decision);
    case "removeMember":
      return await removeMember(scene, decision);
    case "moveLeader":
      return await moveLeader(scene, decision);
    case "beginRollout":
      return await beginRollout(scene, decision);
    case "compareHashes":
      return await compareHashes(scene, decision);
    case "makeSpace":
      return await makeSpace(scene, decision);
    case "disarm":
      return await disarm(scene, decision);
    case "defragment":
      return await defragment(scene, decision);
  }
}

/** The decision to do one particular thing. */
export type Doing<D extends Decision["do"]> = Extract<Decision, { do: D }>;
