/** Daemon sets: one pod on every node that is meant. */
import {
  canonicalJson,
  deepEqual,
  type JsonValue,
  labelSelectorFrom,
  objectKey,
  type Stored,
} from "@keelson/core";
import { ControllerRevision, DaemonSet, Node, Pod } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  cached,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import type { NodeObject } from "@keelson/workloads";
import { nextAvailabilityMs, type PodObject } from "@keelson/workloads";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { claimed, refuseIfGone } from "../ownership/claim.ts";
import { candidatesFor, ownerIndexes, ownersOf } from "../ownership/owner-index.ts";
import { createPod, deletePod, slowStart } from "../pods/pod-control.ts";
import { type DaemonSetObject, daemonPod, hashLabel, targetNode } from "./daemon-pods.ts";
import { type DaemonInput, type DaemonMoves, placement, rollingUpdate } from "./plan.ts";
import { daemonRevisions, truncateDaemonHistory } from "./revision-history.ts";
import { daemonSetStatus } from "./status.ts";

const burst = 250;
const firstBackoffMs = 1_000;
const longestBackoffMs = 15 * 60_000;

/** What of a node decides where daemons go; heartbeats change nothing. */
function nodeFilter() {
  const seen = new Map<string, string>();
  return ({ type, object }: Change<NodeObject>): boolean => {
    const { metadata, spec } = object;
    const facts =
      type === "deleted"
        ? undefined
        : canonicalJson([metadata.uid, metadata.labels ?? {}, spec.taints ?? []] as JsonValue);
    if (seen.get(metadata.name) === facts) return false;
    if (facts === undefined) seen.delete(metadata.name);
    else seen.set(metadata.name, facts);
    return true;
  };
}

function watchesFor() {
  const matters = nodeFilter();
  return {
    sets: watch(DaemonSet),
    pods: watch(Pod, { indexes: ownerIndexes, keys: ownersOf(DaemonSet, "sets") }),
    nodes: watch(Node, {
      keys: (change, caches: Readonly<Record<string, CacheReader<never>>>) =>
        matters(change) ? cacheNamed<Stored>(caches, "sets").list().map(objectKey) : [],
    }),
    revisions: cached(ControllerRevision, { indexes: ownerIndexes }),
  };
}

type Context = RawContext<ReturnType<typeof watchesFor>>;

/** Failed daemons are replaced after a while that grows with each failure on the node. */
type Failures = Map<string, { count: number; lastMs: number }>;

export function daemonSetController(): RawController {
  const failures: Failures = new Map();
  return rawController({
    name: "daemonset-controller",
    fieldManager: controllerManager,
    watches: watchesFor(),
    writes: [
      allowSubresource(DaemonSet, "status", ["update"]),
      allow(Pod, ["create", "patch", "delete"]),
      allow(ControllerRevision, ["create", "update", "patch", "delete"]),
    ],
    concurrency: 2,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const set = ctx.caches.sets.get(key);
      if (set && set.metadata.deletionTimestamp === undefined) await reconcile(ctx, set, failures);
    }),
  });
}

async function reconcile(ctx: Context, set: DaemonSetObject, failures: Failures): Promise<void> {
  const selector = labelSelectorFrom(set.spec.selector);
  if (selector.requirements.length === 0) {
    const message = "This daemon set is selecting all pods. A non-empty selector is required.";
    ctx.event(set, "Warning", "SelectingAll", message);
    return;
  }
  const claim = { owner: set, ownerKind: DaemonSet, kind: Pod, selector };
  const pods = await claimed(ctx, claim, candidatesFor(ctx.caches.pods, set));
  const revisions = await daemonRevisions(ctx, set, pods);
  const hash = revisions.current.metadata.labels?.[hashLabel] ?? "";
  const nowMs = ctx.clock.now();
  const look = (): DaemonInput => ({
    set,
    nodes: ctx.caches.nodes.list(),
    podsByNode: byNode(ctx.caches.pods.byIndex("owner", set.metadata.uid)),
    hash,
    nowMs,
  });
  const { ended, ...moves } = placement(look());
  // Daemons that vanished may have gone with their set.
  const isReplacing = moves.create.length > 0 && (set.status?.currentNumberScheduled ?? 0) > pods.length;
  if (isReplacing) await refuseIfGone(ctx, { owner: set, ownerKind: DaemonSet });
  let failure: { error: unknown } | undefined;
  try {
    await move(ctx, set, hash, {
      ...moves,
      remove: [...moves.remove, ...endedToRemove(ctx, set, ended, failures)],
    });
    if (set.spec.updateStrategy?.type !== "OnDelete") await move(ctx, set, hash, rollingUpdate(look()));
    await truncateDaemonHistory(ctx, set, revisions.old, pods);
  } catch (error) {
    failure = { error };
  }
  const status = daemonSetStatus(look());
  if (!deepEqual(set.status ?? {}, status)) {
    await ctx
      .kind(DaemonSet)
      .subresource("status")
      .update({ ...set, status });
  }
  if (failure) throw failure.error;
  const minReady = set.spec.minReadySeconds ?? 0;
  if (minReady > 0 && status.numberReady !== (status.numberAvailable ?? 0)) {
    ctx.recheck(nextAvailabilityMs(pods, minReady, nowMs) ?? minReady * 1000);
  }
}

function byNode(pods: readonly PodObject[]): Map<string, PodObject[]> {
  const out = new Map<string, PodObject[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node !== undefined) out.set(node, [...(out.get(node) ?? []), pod]);
  }
  return out;
}

/** Daemons that ran to their end are removed, so that others can take their place. */
function endedToRemove(
  ctx: Context,
  set: DaemonSetObject,
  ended: readonly PodObject[],
  failures: Failures,
): PodObject[] {
  const nowMs = ctx.clock.now();
  return ended.filter((pod) => {
    const node = targetNode(pod) ?? "";
    const where = `${objectKey(pod)} on node ${node}`;
    if (pod.status?.phase === "Succeeded") {
      const message = `Found succeeded daemon pod ${where}, will try to delete it`;
      ctx.event(set, "Normal", "SucceededDaemonPod", message);
      return true;
    }
    const id = `${set.metadata.uid}/${set.status?.observedGeneration ?? 0}/${node}`;
    const before = failures.get(id);
    const wait = before ? Math.min(longestBackoffMs, firstBackoffMs * 2 ** (before.count - 1)) : 0;
    const left = before ? before.lastMs + wait - nowMs : 0;
    if (left > 0) {
      ctx.recheck(left);
      return false;
    }
    const isForgotten = before && nowMs - before.lastMs > 2 * longestBackoffMs;
    failures.set(id, { count: isForgotten ? 1 : (before?.count ?? 0) + 1, lastMs: nowMs });
    ctx.event(set, "Warning", "FailedDaemonPod", `Found failed daemon pod ${where}, will try to kill it`);
    return true;
  });
}

async function move(ctx: Context, set: DaemonSetObject, hash: string, moves: DaemonMoves): Promise<void> {
  const create = moves.create.slice(0, burst);
  const { error } = await slowStart(create.length, async (index) => {
    await createPod(ctx, set, daemonPod(set, hash, create[index] ?? ""));
  });
  const results = await Promise.allSettled(
    moves.remove.slice(0, burst).map((pod) => deletePod(ctx, set, pod)),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (error !== undefined) throw error;
  if (failed) throw failed.reason;
}
