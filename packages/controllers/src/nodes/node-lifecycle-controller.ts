/** Watches over nodes: those that go silent become unknown, are tainted, and their pods no longer count as ready. */
import { isConflict, isNotFound } from "@keelson/client";
import { formatTime } from "@keelson/core";
import { Lease, Node, Pod, type Taint } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { cached, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import type { NodeObject } from "@keelson/workloads";
import { isPodReady } from "@keelson/workloads";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { conditionTaints } from "./condition-taints.ts";
import {
  type HealthTimings,
  type NodeHealth,
  observe,
  patienceMs,
  readyOf,
  silentConditions,
} from "./node-health.ts";

const leaseNamespace = "kube-node-lease";

const watches = {
  nodes: watch(Node, {
    // Whether pods are driven out depends on all nodes.
    keys: ({ object }, caches) => [
      object.metadata.name,
      ...(caches.nodes?.list().map((node: NodeObject) => node.metadata.name) ?? []),
    ],
  }),
  leases: cached(Lease, { namespace: leaseNamespace }),
  pods: cached(Pod, { indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) } }),
};

type Context = RawContext<typeof watches>;

interface Known {
  readonly uid: string;
  readonly health: NodeHealth;
  readonly wasReady: boolean;
}

export function nodeLifecycleController(timings: HealthTimings = {}): RawController {
  const known = new Map<string, Known>();
  return rawController({
    name: "node-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allow(Node, ["update"]),
      allowSubresource(Node, "status", ["update"]),
      allowSubresource(Pod, "status", ["update"]),
    ],
    concurrency: 4,
    reconcile: yieldingToOthers(async (name, ctx: Context) => {
      const node = ctx.caches.nodes.get(name);
      if (node) await look(ctx, node, known, timings);
      else forget(ctx, name, known);
    }),
  });
}

function forget(ctx: Context, name: string, known: Map<string, Known>): void {
  const before = known.get(name);
  if (!before) return;
  known.delete(name);
  tell(ctx, name, before.uid, "RemovingNode", `Removing Node ${name} from Controller`);
}

function tell(ctx: Context, name: string, uid: string, reason: string, message: string): void {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name, uid } };
  ctx.event(node, "Normal", reason, `Node ${name} event: ${message}`);
}

async function look(
  ctx: Context,
  given: NodeObject,
  known: Map<string, Known>,
  timings: HealthTimings,
): Promise<void> {
  const { name, uid } = given.metadata;
  const nowMs = ctx.clock.now();
  const moment = { nowMs, monotonicMs: ctx.clock.monotonic() };
  const before = known.get(name);
  const isSame = before?.uid === uid;
  if (!isSame) tell(ctx, name, uid, "RegisteredNode", `Registered Node ${name} in Controller`);
  const lease = ctx.caches.leases.get(`${leaseNamespace}/${name}`);
  const health = observe(isSame ? before.health : undefined, given, lease, moment);
  const wasReady = readyOf(given)?.status === "True" || (isSame && before.wasReady);
  known.set(name, { uid, health, wasReady });
  const patience = patienceMs(health, given, timings, moment);
  const node = patience > 0 ? given : await silence(ctx, given, nowMs);
  const isReady = readyOf(node)?.status === "True";
  await taint(ctx, node, nowMs);
  if (!isReady && wasReady && readyOf(node)) {
    ctx.event(node, "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    await markPodsNotReady(ctx, name);
  }
  known.set(name, { uid, health, wasReady: isReady });
  // Silence makes no events: the lease is looked at again when patience would end.
  if (patience > 0) ctx.recheck(patience);
}

async function silence(ctx: Context, node: NodeObject, nowMs: number): Promise<NodeObject> {
  const conditions = silentConditions(node, nowMs);
  if (conditions === node.status?.conditions) return node;
  const status = { ...node.status, conditions: [...conditions] };
  return await ctx
    .kind(Node)
    .subresource("status")
    .update({ ...node, status });
}

async function taint(ctx: Context, node: NodeObject, nowMs: number): Promise<void> {
  const someReady = ctx.caches.nodes.list().some((each) => readyOf(each)?.status === "True");
  const current = node.spec.taints ?? [];
  const taints = conditionTaints(node, someReady, nowMs);
  if (taints === current || (taints.length === 0 && current.length === 0)) return;
  const { taints: _, ...spec } = node.spec;
  const next: { taints?: Taint[] } = taints.length > 0 ? { taints: [...taints] } : {};
  await ctx.kind(Node).update({ ...node, spec: { ...spec, ...next } });
}

/** Their kubelet cannot say it any more: pods on a silent node get no requests. */
async function markPodsNotReady(ctx: Context, nodeName: string): Promise<void> {
  for (const pod of ctx.caches.pods.byIndex("node", nodeName)) {
    if (!isPodReady(pod)) continue;
    const conditions = (pod.status?.conditions ?? []).map((condition) =>
      condition.type === "Ready"
        ? { ...condition, status: "False", lastTransitionTime: formatTime(ctx.clock.now()) }
        : condition,
    );
    ctx.event(pod, "Warning", "NodeNotReady", "Node is not ready");
    try {
      await ctx
        .kind(Pod)
        .subresource("status")
        .update({ ...pod, status: { ...pod.status, conditions } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
