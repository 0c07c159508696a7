/** A node that runs nothing and says that it does: pods start, become ready, finish and stop in virtual time. */
import { type Client, systemWorld } from "@keelson/client";
import { type Cancel, formatMicroTime, formatTime, type ObjectOf, type World } from "@keelson/core";
import { Lease, Node, Pod } from "@keelson/core/kinds";
import {
  allow,
  allowSubresource,
  type Logger,
  operator,
  type RawController,
  silentLogger,
} from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";

/** What a simulated node is like. */
export interface SimulatedNodeOptions {
  /** Default: `node-1`. */
  readonly name?: string;
  /** From being scheduled to being ready. Default: 1 s. */
  readonly startMs?: number;
  /** How long a pod that is not restarted runs before it succeeds. Default: 5 s. */
  readonly runMs?: number;
  /** From being deleted to being gone, at most its grace period. Default: 1 s. */
  readonly stopMs?: number;
  /** Pods for which this says so never become ready. */
  readonly broken?: (pod: PodObject) => boolean;
}

type PodObject = ObjectOf<typeof Pod>;

const capacity = { cpu: "64", memory: "256Gi", pods: "1000", "ephemeral-storage": "1Ti" };

/** Its runtime is known to the cluster's controllers: claims without a class get volumes, as on a node that runs pods. */
const nodeInfo = {
  architecture: "amd64",
  bootID: "simulated",
  containerRuntimeVersion: "keelson://simulated",
  kernelVersion: "simulated",
  kubeProxyVersion: "",
  kubeletVersion: "simulated",
  machineID: "simulated",
  operatingSystem: "linux",
  osImage: "simulated",
  systemUUID: "simulated",
};

/** What a simulated node needs of its surroundings. */
export interface SimulatedNodeServices {
  readonly client: Client;
  readonly world?: World;
  readonly log?: Logger;
}

/** Registers a node, keeps it alive and runs its kubelet, on any API server. */
export async function startSimulatedNode(
  { client, world = systemWorld, log = silentLogger }: SimulatedNodeServices,
  options: SimulatedNodeOptions = {},
): Promise<AsyncDisposable> {
  const name = options.name ?? "node-1";
  await registerNode(client, name, world.clock.now());
  const heart = await startHeart(client, name, world);
  const running = await operator({
    controllers: [simulatedKubelet(options)],
    client,
    world,
    log,
    leaderElection: false,
    endpoints: false,
  }).start();
  return {
    [Symbol.asyncDispose]: async () => {
      heart();
      await running[Symbol.asyncDispose]();
    },
  };
}

const heartbeatMs = 10_000;

/** Renews the node's lease, as kubelets do; without it the control plane would give the node up. */
async function startHeart(client: Client, name: string, { clock }: World): Promise<Cancel> {
  const ref = { namespace: "kube-node-lease", name };
  const renewed = () => ({
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: formatMicroTime(clock.now()),
  });
  await client.kind(Lease).create({ metadata: ref, spec: renewed() });
  let cancel: Cancel;
  const beat = () => {
    // A beat that does not arrive is made up for by the next.
    client
      .kind(Lease)
      .patch(ref, { type: "merge", body: { spec: renewed() } })
      .catch(() => {});
    cancel = clock.timer(heartbeatMs, beat);
  };
  cancel = clock.timer(heartbeatMs, beat);
  return () => cancel();
}

/** Ready, and with room for a thousand pods. */
async function registerNode(client: Client, name: string, nowMs: number): Promise<void> {
  const now = formatTime(nowMs);
  await client.kind(Node).create({ metadata: { name, labels: { "kubernetes.io/hostname": name } } });
  const ready = {
    type: "Ready",
    status: "True",
    reason: "KubeletReady",
    message: "simulated",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  // A patch, because a cluster's own controllers write to a new node at once.
  await client
    .kind(Node)
    .subresource("status")
    .patch(
      { name },
      { type: "merge", body: { status: { capacity, allocatable: capacity, nodeInfo, conditions: [ready] } } },
    );
}

/** The kubelet of such a node. */
export function simulatedKubelet(options: SimulatedNodeOptions = {}): RawController {
  const { name = "node-1", startMs = 1_000, runMs = 5_000, stopMs = 1_000, broken = () => false } = options;
  let addresses = 0;
  return rawController({
    name: `kubelet-${name}`,
    watches: { pods: watch(Pod, { fields: `spec.nodeName=${name}` }) },
    writes: [allow(Pod, ["delete"]), allowSubresource(Pod, "status", ["update"])],
    async reconcile(key, ctx) {
      const pod = ctx.caches.pods.get(key);
      if (!pod) return;
      const nowMs = ctx.clock.now();
      const { deletionTimestamp, deletionGracePeriodSeconds = 30, uid } = pod.metadata;
      if (deletionTimestamp !== undefined) {
        const begunMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1_000;
        const leftMs = begunMs + Math.min(stopMs, deletionGracePeriodSeconds * 1_000) - nowMs;
        if (leftMs > 0) return ctx.recheck(leftMs);
        await ctx.kind(Pod).delete(pod.metadata, { uid, gracePeriodSeconds: 0 });
        return;
      }
      const { phase = "Pending", startTime } = pod.status ?? {};
      if (phase === "Succeeded" || phase === "Failed") return;
      if (startTime === undefined) {
        await report(ctx, pod, { phase: "Pending", startTime: formatTime(nowMs), ready: false, address: "" });
        return ctx.recheck(startMs);
      }
      const ageMs = nowMs - Date.parse(startTime);
      if (ageMs < startMs) return ctx.recheck(startMs - ageMs);
      const address = pod.status?.podIP ?? `10.244.0.${++addresses}`;
      const finishes = pod.spec.restartPolicy === "Never" || pod.spec.restartPolicy === "OnFailure";
      if (finishes && ageMs >= startMs + runMs && !broken(pod)) {
        await report(ctx, pod, { phase: "Succeeded", startTime, ready: false, address });
        return;
      }
      const ready = !broken(pod);
      const isReady = pod.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
      if (phase !== "Running" || isReady !== ready) {
        await report(ctx, pod, { phase: "Running", startTime, ready, address });
      }
      if (finishes) ctx.recheck(startMs + runMs - ageMs);
    },
  });
}

interface Report {
  readonly phase: "Pending" | "Running" | "Succeeded";
  readonly startTime: string;
  readonly ready: boolean;
  readonly address: string;
}

async function report(
  ctx: Pick<RawContext, "kind" | "clock">,
  pod: PodObject,
  { phase, startTime, ready, address }: Report,
): Promise<void> {
  const now = formatTime(ctx.clock.now());
  const condition = (type: string, holds: boolean) => {
    const before = pod.status?.conditions?.find((each) => each.type === type);
    const status = holds ? ("True" as const) : ("False" as const);
    return { type, status, lastTransitionTime: before?.status === status ? before.lastTransitionTime : now };
  };
  await ctx
    .kind(Pod)
    .subresource("status")
    .update({
      ...pod,
      status: {
        ...pod.status,
        phase,
        startTime,
        ...(address === "" ? {} : { podIP: address, podIPs: [{ ip: address }], hostIP: "10.0.0.1" }),
        conditions: [
          ...(pod.status?.conditions ?? []).filter(({ type }) => type === "PodScheduled"),
          condition("Initialized", phase !== "Pending"),
          condition("ContainersReady", ready),
          condition("Ready", ready),
        ],
        containerStatuses: pod.spec.containers.map(({ name, image = "" }) => ({
          name,
          image,
          imageID: image,
          ready,
          started: phase === "Running",
          restartCount: 0,
          state:
            phase === "Running"
              ? { running: { startedAt: startTime } }
              : phase === "Succeeded"
                ? { terminated: { exitCode: 0, reason: "Completed", startedAt: startTime, finishedAt: now } }
                : { waiting: { reason: "ContainerCreating" } },
        })),
      },
    });
}
