/** A change of the pod template is tried on a pod of its own first: a mistake in it costs no server. */
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import { knownStatus } from "../observe/observe.ts";
import type { Observed } from "../observe/observed.ts";
import { podView } from "../observe/views.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames } from "../resources/names.ts";
import { specToRun } from "../resources/settings-to-run.ts";
import { templateHash } from "../resources/stateful-set.ts";
import { trialConfig, trialPod } from "../resources/trial.ts";

/** Undefined when servers may be made as the spec says. */
export async function keepTrial(db: SampleDBObject, ctx: SampleDBContext): Promise<Observed["trial"]> {
  const spec = specToRun(db, ctx.own);
  const database = databaseName(db);
  const version = knownStatus(db, ctx).imageVersion ?? spec.version;
  const wanted = templateHash(spec, version);
  const current = ctx.own.set.get()?.spec?.template?.metadata?.annotations?.[annotations.template];
  const needed = current !== undefined && current !== wanted;
  for (const key of ctx.own.trials.entries().keys())
    if (!needed || key !== wanted) await ctx.own.trials.delete(key);
  if (!needed) {
    if (ctx.own.trialConfig.get()) await ctx.own.trialConfig.delete();
    return undefined;
  }
  await ctx.own.trialConfig.apply(trialConfig(database, spec));
  const pod = ctx.own.trials.get(wanted);
  await ctx.own.trials.apply(wanted, trialPod(database, spec, version));
  const view = pod && podView(pod, database);
  if (view?.ready) return undefined;
  if (view?.obstacle !== undefined)
    return {
      state: "failed",
      message: `${pod?.metadata.name}, which tries what the spec says, does not start: ${view.obstacle}; correct the spec`,
    };
  return {
    state: "running",
    message: `${objectNames(database).trial}-${wanted} tries what the spec says before any server is changed`,
  };
}
