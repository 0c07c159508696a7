/** Brings pods in line with the spec, one at a time: replicas first, the primary last, which hands over before it goes. */

import { conditions } from "../api/conditions.ts";
import { conditionsOf, primaryOf } from "../decide/report.ts";
import type { InstanceView, Observed } from "../observe/observed.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName, instanceKey } from "../resources/names.ts";
import { digestOf, recipeOf } from "../resources/recipe.ts";

/** What is being done, in words; undefined when every instance is as it should be. Called when all are ready. */
export async function rollOut(observed: Observed, ctx: DatabaseContext): Promise<string | undefined> {
  const { object, instances } = observed;
  const wanted = digestOf(recipeOf(object));
  const reasonFor = ({ pod, report }: InstanceView): string | undefined => {
    if (pod?.template !== wanted) return "its pod is made from an older spec";
    const waiting = report?.pendingRestart ?? [];
    return waiting.length > 0 ? `${waiting.join(", ")} need a restart` : undefined;
  };
  const primary = primaryOf(observed);
  const outdated = instances.filter((each) => reasonFor(each) !== undefined);
  const next = outdated.find(({ name }) => name !== primary?.name) ?? outdated[0];
  if (!next) return undefined;
  // Never while a commit relies on everybody who is left.
  const isProtected = conditionsOf(observed).some(
    ({ type, status }) => type === conditions.protected && status === "True",
  );
  const isAlone = object.spec.instances === 1 || object.spec.durability === "async";
  const sentence = `${next.name}: ${reasonFor(next)}`;
  if (!isProtected && !isAlone) return `${sentence}; it waits for replication to be whole`;
  ctx.event("Normal", "InstanceReplaced", sentence);
  await ctx.own.pods.delete(instanceKey(databaseName(object), next.name));
  return sentence;
}
