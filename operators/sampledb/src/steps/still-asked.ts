/** Whether a plan is still asked for when it is about to be carried out. */
import { objectionTo } from "@keelson/kit";
import { reasons } from "../api/conditions.ts";
import { SampleDB, type SampleDBObject } from "../api/sampledb.ts";
import { type Action, type Plan, waitingFor } from "../decide/plan.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";

/** What says how things are, or ends what an earlier pass began. */
const harmless = new Set<Action["do"]>(["label", "markClaim", "setGuard", "resume"]);

/**
 * Silent servers hold up a pass for seconds, and a cache may be late: before a plan that disturbs or makes something, the
 * database is asked for past every cache. A plan that is not asked for any more is dropped as a whole, with what it would
 * have recorded.
 */
export async function stillAsked(db: SampleDBObject, ctx: SampleDBContext, plan: Plan): Promise<Plan> {
  if ((plan.actions ?? []).every((action) => harmless.has(action.do))) return plan;
  const live = await ctx.client.kind(SampleDB).find(databaseName(db));
  const objection = objectionTo(db, live);
  if (objection === undefined) return plan;
  const reason = live?.metadata.deletionTimestamp === undefined ? reasons.paused : reasons.deleting;
  return { notReady: waitingFor(reason, `nothing is done: ${objection}`, 200), dropped: true };
}
