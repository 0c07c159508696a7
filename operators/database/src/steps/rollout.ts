/** Brings pods in line with the spec, one at a time: replicas first, the primary last, which hands over before it goes. */

import { conditionsOf, isWhole, primaryOf } from "../decide/report.ts";
import { type AgentAccess, askAgent } from "../observe/observe.ts";
import type { InstanceView, Observed } from "../observe/observed.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName, instanceKey } from "../resources/names.ts";
import { digestOf, recipeOf } from "../resources/recipe.ts";
import { objectionNow } from "./still-asked.ts";

/** What is being done, in words; undefined when every instance is as it should be. Called when all are ready. */
export async function rollOut(
  observed: Observed,
  ctx: DatabaseContext,
  { version, access }: { readonly version: string; readonly access: AgentAccess | undefined },
): Promise<string | undefined> {
  const { object, instances } = observed;
  const wanted = digestOf(recipeOf(object, { version, record: observed.record }));
  const reasonFor = ({ pod, report }: InstanceView): string | undefined => {
    if (pod?.template !== wanted) return "its pod is made from an older spec";
    const waiting = report?.pendingRestart ?? [];
    return waiting.length > 0 ? `${waiting.join(", ")} need a restart` : undefined;
  };
  const primary = primaryOf(observed);
  const outdated = instances.filter((each) => reasonFor(each) !== undefined);
  const next = outdated.find(({ name }) => name !== primary?.name) ?? outdated[0];
  if (!next) return undefined;
  const sentence = `${next.name}: ${reasonFor(next)}`;
  // Never while a commit relies on everybody who is left.
  if (!isWhole(object, conditionsOf(observed))) return `${sentence}; it waits for replication to be whole`;
  const objection = await objectionNow(object, ctx);
  if (objection !== undefined) return `${sentence}; not now: ${objection}`;
  // Only PostgreSQL starts again where the pod is as it should be. A primary hands over before, unless there is nobody,
  // or its standbys must still allow more than it will.
  const handsOver = next === primary && instances.length > 1 && next.report?.isLowering !== true;
  if (next.pod?.template === wanted && !handsOver && access) {
    ctx.event("Normal", "InstanceRestarted", sentence);
    const instance = { namespace: databaseName(object).namespace, name: next.name };
    await askAgent(ctx, instance, { path: "/restart", body: {}, timeoutMs: 30_000 }, access);
    return sentence;
  }
  ctx.event("Normal", "InstanceReplaced", sentence);
  await ctx.own.pods.delete(instanceKey(databaseName(object), next.name));
  return sentence;
}
