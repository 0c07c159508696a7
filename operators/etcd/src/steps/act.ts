/** Does what was decided. One file per topic does the work; this file calls them. */
import { done, fail, type Outcome, waiting } from "keelson";
import type { Decision } from "../decide/decision.ts";
import { changePassword, enableAuthentication } from "./authentication.ts";
import { createClaim, deleteClaim, fenceClaim, growClaim, repairClaim, signClaim } from "./claims.ts";
import { compareHashes, defragment, disarm, makeSpace } from "./maintenance.ts";
import { addLearner, moveLeader, promote, removeMember } from "./membership.ts";
import { createPods, deletePods, markVoter, repairPod } from "./pods.ts";
import { endTrials, tryTemplate } from "./rollout.ts";
import { attempt, changeOfSpec, objectionNow, type Pass, type StepContext, type StepResult } from "./step.ts";

/** How soon to reconcile again: after an action, after a refused one, and when there is nothing to do. */
const actedMs = 200;
const refusedMs = 500;
const restMs = 10_000;

/** What only asks or puts back a mark. */
const harmless = new Set<Decision["do"]>([
  "signClaim",
  "repairClaim",
  "repairPod",
  "markVoter",
  "compareHashes",
]);

/** What no later pass can take back: it is done by the very spec that it was decided by. */
const lasting = new Set<Decision["do"]>([
  "growClaim",
  "fenceClaim",
  "deleteClaim",
  "removeMember",
  "makeSpace",
  "enableAuthentication",
]);

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
      const result = await performAndReport(pass, decision);
      if (result === "done") return waiting(reason, message, { recheckMs: actedMs });
      return waiting(reason, `${message}; refused for now: ${result.refused}`, { recheckMs: refusedMs });
    }
  }
}

/** Does what disturbs nobody, beside the decision of a pass. */
export async function actBeside(pass: Pass, decisions: readonly Decision[]): Promise<void> {
  for (const decision of decisions) {
    if ((await performAndReport(pass, decision)) === "done") pass.ctx.recheck(actedMs);
  }
}

/** Every action is an event: that of its step, or that of its decision. */
async function performAndReport(pass: Pass, decision: Decision): Promise<StepResult> {
  let reported = false;
  const event: StepContext["event"] = (...event) => {
    reported = true;
    pass.ctx.event(...event);
  };
  const objection = await objectionTo(pass, decision);
  if (objection !== undefined) return { refused: objection };
  const result = await perform({ ...pass, event }, decision);
  if (result !== "done") return result;
  pass.onAction(decision.do);
  if (!reported) event("Normal", decision.reason, decision.message);
  return result;
}

/** Asked right before every action that disturbs something or makes something. */
async function objectionTo(pass: Pass, { do: action }: Decision): Promise<string | undefined> {
  // It asks before each pod.
  if (harmless.has(action) || action === "deletePods") return undefined;
  return await (lasting.has(action) ? changeOfSpec(pass) : objectionNow(pass));
}

async function perform(step: StepContext, decision: Decision): Promise<StepResult> {
  switch (decision.do) {
    case "createClaim":
      await createClaim(step, decision);
      break;
    case "signClaim":
      await signClaim(step, decision);
      break;
    case "growClaim":
      return await growClaim(step, decision);
    case "fenceClaim":
      await fenceClaim(step, decision);
      break;
    case "deleteClaim":
      await deleteClaim(step, decision);
      break;
    case "createPods":
      await createPods(step, decision);
      break;
    case "deletePods":
      return await deletePods(step, decision);
    case "markVoter":
      await markVoter(step, decision);
      break;
    case "repairPod":
      await repairPod(step, decision);
      break;
    case "repairClaim":
      await repairClaim(step, decision);
      break;
    case "addLearner":
      return await addLearner(step, decision);
    case "promote":
      return await promote(step, decision);
    case "removeMember":
      return await removeMember(step, decision);
    case "moveLeader":
      return await moveLeader(step, decision);
    case "tryTemplate":
      await tryTemplate(step, decision);
      break;
    case "endTrials":
      await endTrials(step);
      break;
    case "compareHashes":
      return await attempt(step, async () => await compareHashes(step, decision));
    case "makeSpace":
      return await attempt(step, async () => await makeSpace(step, decision));
    case "disarm":
      return await attempt(step, async () => await disarm(step, decision));
    case "defragment":
      return await attempt(step, async () => await defragment(step, decision));
    case "enableAuthentication":
      return await enableAuthentication(step, decision);
    case "changePassword":
      return await changePassword(step, decision);
  }
  return "done";
}
