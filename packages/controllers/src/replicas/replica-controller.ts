/** ReplicaSets and ReplicationControllers: as many pods as the number says. */
import { type Kind, type LabelSelectorObject, labelSelectorFrom } from "@keelson/core";
import { Pod, ReplicaSet, ReplicationController } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { isPodActive, isPodTerminating, nextAvailabilityMs, type PodObject } from "@keelson/workloads";
import { controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import { claimed, refuseIfGone } from "../ownership/claim.ts";
import { candidatesFor, ownerIndexes, ownersOf } from "../ownership/owner-index.ts";
import { controllerOfObject, controllerReference, isControlledBy } from "../ownership/owner-reference.ts";
import { createPod, deletePod, slowStart } from "../pods/pod-control.ts";
import { podFromTemplate } from "../pods/pod-from-template.ts";
import { podsToDelete } from "../pods/pod-ranking.ts";
import { type ReplicaSetObject, replicaStatus, sameStatus } from "./replica-status.ts";

/** At most this many pods are made or removed in one run. */
const burst = 500;

/** One of the two kinds that follow these rules. Both are seen as replica sets. */
interface Flavour {
  readonly name: string;
  readonly kind: typeof ReplicaSet;
  readonly countsTerminating: boolean;
  readonly selectorOf: (set: ReplicaSetObject) => LabelSelectorObject | undefined;
}

export function replicaSetController(): RawController {
  return replicaController({
    name: "replicaset-controller",
    kind: ReplicaSet,
    countsTerminating: true,
    selectorOf: (set) => set.spec.selector,
  });
}

/** The same rules under an older name: its selector is a plain map, and it does not count what is terminating. */
export function replicationController(): RawController {
  return replicaController({
    name: "replication-controller",
    kind: ReplicationController as Kind as typeof ReplicaSet,
    countsTerminating: false,
    selectorOf: (set) => ({ matchLabels: set.spec.selector as Record<string, string> | undefined }),
  });
}

function watchesFor({ kind, selectorOf }: Flavour) {
  return {
    sets: watch(kind, { indexes: { owner: ownerIndexes.owner } }),
    pods: watch(Pod, { indexes: ownerIndexes, keys: ownersOf(kind, "sets", selectorOf) }),
  };
}

type Context = RawContext<ReturnType<typeof watchesFor>>;

function replicaController(flavour: Flavour): RawController {
  return rawController({
    name: flavour.name,
    fieldManager: controllerManager,
    watches: watchesFor(flavour),
    writes: [allowSubresource(flavour.kind, "status", ["update"]), allow(Pod, ["create", "patch", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const set = ctx.caches.sets.get(key);
      if (set) await reconcile(ctx, flavour, set);
    }),
  });
}

async function reconcile(ctx: Context, flavour: Flavour, set: ReplicaSetObject): Promise<void> {
  const selector = labelSelectorFrom(flavour.selectorOf(set));
  const mine = candidatesFor(ctx.caches.pods, set);
  const claim = { owner: set, ownerKind: flavour.kind, kind: Pod, selector };
  const active = await claimed(ctx, claim, mine.filter(isPodActive));
  const terminating = mine.filter((pod) => isPodTerminating(pod) && isControlledBy(pod, set));
  const failure =
    set.metadata.deletionTimestamp === undefined ? await adjust(ctx, flavour, set, active) : undefined;
  const nowMs = ctx.clock.now();
  const status = replicaStatus(
    set,
    { active, terminating },
    failure && { message: serverMessage(failure.error) },
    { nowMs, countsTerminating: flavour.countsTerminating },
  );
  if (!sameStatus(set, status)) {
    await ctx
      .kind(flavour.kind)
      .subresource("status")
      .update({ ...set, status });
  }
  if (failure) throw failure.error;
  const minReady = set.spec.minReadySeconds ?? 0;
  if (minReady > 0 && status.readyReplicas !== status.availableReplicas) {
    ctx.recheck(nextAvailabilityMs(active, minReady, nowMs) ?? minReady * 1000);
  }
}

/** Makes what is missing and removes what is too many. */
async function adjust(
  ctx: Context,
  { kind }: Flavour,
  set: ReplicaSetObject,
  active: readonly PodObject[],
): Promise<{ error: unknown } | undefined> {
  const missing = (set.spec.replicas ?? 1) - active.length;
  const { template } = set.spec;
  if (missing > 0 && template) {
    // Pods that vanished may have gone with their set.
    if ((set.status?.replicas ?? 0) > active.length) await refuseIfGone(ctx, { owner: set, ownerKind: kind });
    const { error } = await slowStart(Math.min(missing, burst), async () => {
      const pod = podFromTemplate(template, set.metadata);
      pod.metadata.ownerReferences = [controllerReference(set, kind)];
      await createPod(ctx, set, pod);
    });
    return error === undefined ? undefined : { error };
  }
  if (missing >= 0) return undefined;
  const count = Math.min(-missing, burst);
  const going = podsToDelete(active, relatedPods(ctx, set), count, ctx.clock.now());
  const results = await Promise.allSettled(going.map((pod) => deletePod(ctx, set, pod)));
  const failed = results.find((result) => result.status === "rejected");
  return failed ? { error: failed.reason } : undefined;
}

/** Pods of all sets with the same controller: those of a Deployment count together. */
function relatedPods({ caches }: Context, set: ReplicaSetObject): PodObject[] {
  const owner = controllerOfObject(set);
  const sets = owner ? caches.sets.byIndex("owner", owner.uid) : [set];
  return sets.flatMap(({ metadata }) => caches.pods.byIndex("owner", metadata.uid));
}
