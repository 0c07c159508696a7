/** Does what was decided. One file per topic does the work; this is who does what. */
import { done, fail, type Outcome, waiting } from "keelson";
import type { Decision } from "../decide/decision.ts";
import { changePassword, enableAuthentication } from "./authentication.ts";
import { createClaim, deleteClaim, fenceClaim, growClaim, signClaim } from "./claims.ts";
import { compareHashes, defragment, disarm, makeSpace } from "./maintenance.ts";
import { addLearner, moveLeader, promote, removeMember } from "./membership.ts";
import { createPods, deletePods, markVoter } from "./pods.ts";
import { endTrials, tryTemplate } from "./rollout.ts";
import type { Pass, Scene, StepResult } from "./step.ts";

/** How soon to look again after something was done; at rest members are asked this often though nothing changed. */
const soonMs = 200;
const refusedMs = 500;
const restMs = 10_000;

export async function act(pass: Pass, decision: Decision): Promise<Outcome> {
  const { reason, message } = decision;
  switch (decision.do) {
    case "nothing":
      return done({ message, recheckMs: restMs });
    case "refuse":
      pass.ctx.recheck(restMs);
      return fail(reason, message);
    case "wait":
      return waiting(reason, message, { recheckMs: decision.recheckMs ?? 1_000 });
    case "record":
      pass.ctx.event("Normal", reason, decision.event ?? message);
      return waiting(reason, message, { recheckMs: 0 });
    default: {
      let told = false;
      const tell: Scene["tell"] = (...event) => {
        told = true;
        pass.ctx.event(...event);
      };
      const refused = (await perform({ ...pass, tell }, decision)) === "refused";
      if (!refused) pass.onAction(decision.do);
      if (!refused && !told) tell("Normal", reason, message);
      return waiting(reason, message, { recheckMs: refused ? refusedMs : soonMs });
    }
  }
}

async function perform(scene: Scene, decision: Decision): Promise<StepResult> {
  switch (decision.do) {
    case "createClaim":
      await createClaim(scene, decision);
      break;
    case "signClaim":
      await signClaim(scene, decision);
      break;
    case "growClaim":
      return await growClaim(scene, decision);
    case "fenceClaim":
      await fenceClaim(scene, decision);
      break;
    case "deleteClaim":
      await deleteClaim(scene, decision);
      break;
    case "createPods":
      await createPods(scene, decision);
      break;
    case "deletePods":
      await deletePods(scene, decision);
      break;
    case "markVoter":
      await markVoter(scene, decision);
      break;
    case "addLearner":
      return await addLearner(scene, decision);
    case "promote":
      return await promote(scene, decision);
    case "removeMember":
      return await removeMember(scene, decision);
    case "moveLeader":
      return await moveLeader(scene, decision);
    case "tryTemplate":
      await tryTemplate(scene, decision);
      break;
    case "endTrials":
      await endTrials(scene);
      break;
    case "compareHashes":
      await compareHashes(scene, decision);
      break;
    case "makeSpace":
      await makeSpace(scene, decision);
      break;
    case "disarm":
      await disarm(scene, decision);
      break;
    case "defragment":
      await defragment(scene, decision);
      break;
    case "enableAuthentication":
      return await enableAuthentication(scene, decision);
    case "changePassword":
      return await changePassword(scene, decision);
  }
  return "done";
}
