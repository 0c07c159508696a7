/** Keeps the status of disruption budgets: eviction grants what it says. */
import { type Client, isConflict, isNotFound } from "@keelson/client";
import { labelSelectorFrom, matchesLabels, objectKey, type Stored } from "@keelson/core";
import {
  Deployment,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from "@keelson/core/kinds";
import { allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  cached,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import { cacheNamed, controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import {
  type BudgetObject,
  budgetStatus,
  disruptedPods,
  expectedOf,
  failedStatus,
  needsScale,
} from "./budget-status.ts";
import { totalScale } from "./owner-scale.ts";

type Caches = Readonly<Record<string, CacheReader<never>>>;

const watches = {
  budgets: watch(PodDisruptionBudget),
  pods: watch(Pod, { keys: budgetsOfPod }),
  deployments: watch(Deployment, { keys: budgetsOfOwner }),
  replicaSets: cached(ReplicaSet),
  statefulSets: watch(StatefulSet, { keys: budgetsOfOwner }),
  replicationControllers: watch(ReplicationController, { keys: budgetsOfOwner }),
};

type Context = RawContext<typeof watches>;

function* budgetsOfPod({ object, previous }: Change<PodObject>, caches: Caches): Iterable<string> {
  for (const budget of cacheNamed<BudgetObject>(caches, "budgets").list(object.metadata.namespace)) {
    const selector = labelSelectorFrom(budget.spec.selector);
    const fits = [object, previous].some((each) => each && matchesLabels(selector, each.metadata.labels));
    if (fits) yield objectKey(budget);
  }
}

interface Scaled extends Stored {
  readonly spec: { readonly replicas?: number };
}

/** Another number of wanted pods changes what a share of them is. */
function* budgetsOfOwner({ object, previous }: Change<Scaled>, caches: Caches): Iterable<string> {
  if (previous && previous.spec.replicas === object.spec.replicas) return;
  for (const budget of cacheNamed<BudgetObject>(caches, "budgets").list(object.metadata.namespace)) {
    if (needsScale(budget)) yield objectKey(budget);
  }
}

export interface DisruptionControllerOptions {
  /** Reads the scale of owners of all kinds, which no declaration could list. */
  readonly client: Client;
}

export function disruptionController({ client }: DisruptionControllerOptions): RawController {
  return rawController({
    name: "disruption-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(PodDisruptionBudget, "status", ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const budget = ctx.caches.budgets.get(key);
      if (!budget) return;
      try {
        await reconcile(ctx, client, budget);
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) throw error;
        await failSafe(ctx, budget, serverMessage(error));
      }
    }),
  });
}

async function reconcile(ctx: Context, client: Client, budget: BudgetObject): Promise<void> {
  const { caches, clock } = ctx;
  const selector = labelSelectorFrom(budget.spec.selector);
  const pods = caches.pods
    .list(budget.metadata.namespace)
    .filter((pod) => matchesLabels(selector, pod.metadata.labels));
  if (pods.length === 0) ctx.event(budget, "Normal", "NoPods", "No matching pods found");
  tellAmbiguous(ctx);
  const count = needsScale(budget) ? await countWanted(ctx, client, budget, pods) : pods.length;
  const nowMs = clock.now();
  const disrupted = disruptedPods(budget, pods, nowMs);
  const { namespace } = budget.metadata;
  for (const pod of disrupted.overdue) {
    const message = `Pod was expected by PDB ${namespace}/${budget.metadata.name} to be deleted but it wasn't`;
    ctx.event(pod, "Warning", "NotDeleted", message);
  }
  const status = budgetStatus(budget, { pods, disrupted, ...expectedOf(budget, count) }, nowMs);
  if (status) {
    await ctx
      .kind(PodDisruptionBudget)
      .subresource("status")
      .update({ ...budget, status });
  }
  if (disrupted.recheckMs !== undefined) ctx.recheck(disrupted.recheckMs + 1);
}

/** Eviction refuses pods of several budgets: that is told on those that changed. */
function tellAmbiguous(ctx: Context): void {
  for (const { kind, key } of ctx.causes) {
    const pod = kind === "Pod" && key !== undefined ? ctx.caches.pods.get(key) : undefined;
    if (!pod) continue;
    const { name, namespace, labels } = pod.metadata;
    const [chosen, ...others] = ctx.caches.budgets
      .list(namespace)
      .filter(({ spec }) => matchesLabels(labelSelectorFrom(spec.selector), labels));
    if (!chosen || others.length === 0) continue;
    const message =
      `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  ` +
      `Chose "${chosen.metadata.name}" arbitrarily.`;
    ctx.event(pod, "Warning", "MultiplePodDisruptionBudgets", message);
  }
}

async function countWanted(
  ctx: Context,
  client: Client,
  budget: BudgetObject,
  pods: readonly PodObject[],
): Promise<number> {
  try {
    const { total, unmanaged } = await totalScale(pods, ctx.caches, client);
    if (unmanaged.length > 0) {
      const message =
        "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB " +
        "cannot be calculated correctly, which may result in undefined behavior. To account for these pods please " +
        'set ".spec.minAvailable" field of the PDB to an integer value.';
      ctx.event(budget, "Warning", "UnmanagedPods", message);
    }
    return total;
  } catch (error) {
    const message = `Failed to calculate the number of expected pods: ${serverMessage(error)}`;
    ctx.event(budget, "Warning", "CalculateExpectedPodCountFailed", message);
    throw error;
  }
}

/** How soon a budget that could not be counted is tried again; changes of its pods come sooner. */
const retryMs = 10_000;

/** What cannot be counted must not be disrupted. */
async function failSafe(ctx: Context, budget: BudgetObject, message: string): Promise<void> {
  const known = budget.status?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  ctx.recheck(retryMs);
  if (known?.reason === "SyncFailed" && known.message === message && !budget.status?.disruptionsAllowed)
    return;
  await ctx
    .kind(PodDisruptionBudget)
    .subresource("status")
    .update({ ...budget, status: failedStatus(budget, message, ctx.clock.now()) });
}
