/** Nodes and kubelets played for a control plane without any: pods that get a node run, end or never become ready. */
import type { Client } from "@keelson/client";
import { isNotFound } from "@keelson/client";
import { formatMicroTime, formatTime, type JsonObject, type ObjectOf } from "@keelson/core";
import { Lease, Node, Pod } from "@keelson/core/kinds";

export interface PlayedNodes extends AsyncDisposable {
  /** The node falls silent: no heartbeats, and its pods are not looked after any more. */
  lose(name: string): void;
}

export interface NodesOptions {
  readonly names: readonly string[];
  readonly labels?: (name: string) => Record<string, string>;
  readonly cpu?: string;
  /** How often a node says that it lives. Default: 1 s. */
  readonly heartbeatMs?: number;
}

const leaseNamespace = "kube-node-lease";

/**
 * Pods do as their label `behave` says: `succeed` and `fail` end, `never` runs without becoming ready, others are
 * ready at once.
 */
export async function playNodes(client: Client, options: NodesOptions): Promise<PlayedNodes> {
  const { names, labels = () => ({}), cpu = "8", heartbeatMs = 1_000 } = options;
  const lost = new Set<string>();
  const end = new AbortController();
  const beat = async () => {
    for (const name of names) if (!lost.has(name)) await heartbeat(client, name, cpu);
  };
  for (const name of names) {
    const metadata = { name, labels: { "kubernetes.io/hostname": name, ...labels(name) } };
    await client.kind(Node).create({ metadata });
  }
  await beat();
  const timer = setInterval(() => void beat().catch(() => {}), heartbeatMs);
  const following = follow(client, lost, end.signal);
  return {
    lose: (name) => lost.add(name),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      end.abort();
      await following;
    },
  };
}

async function heartbeat(client: Client, name: string, cpu: string): Promise<void> {
  const now = Date.now();
  const capacity = { cpu, memory: "16Gi", pods: "110" };
  const time = formatTime(now);
  const conditions = [
    {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    },
  ];
  const body = { status: { capacity, allocatable: capacity, conditions } };
  await client.kind(Node).subresource("status").patch({ name }, { type: "strategic", body });
  await client.kind(Lease).apply(
    {
      metadata: { name, namespace: leaseNamespace },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: formatMicroTime(now) },
    },
    { force: true, fieldManager: "played-kubelet" },
  );
}

async function follow(client: Client, lost: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
  let address = 0;
  const addresses = new Map<string, string>();
  for await (const event of client.kind(Pod).reflect({ signal })) {
    if (event.type !== "item" && event.type !== "added" && event.type !== "modified") continue;
    const pod = event.object;
    if (!pod.spec.nodeName || lost.has(pod.spec.nodeName)) continue;
    const ip = addresses.get(pod.metadata.uid) ?? `10.99.${++address >> 8}.${address & 255}`;
    addresses.set(pod.metadata.uid, ip);
    try {
      await look(client, pod, ip);
    } catch (error) {
      if (!isNotFound(error) && !signal.aborted) throw error;
    }
  }
}

async function look(client: Client, pod: ObjectOf<typeof Pod>, ip: string): Promise<void> {
  const { name, namespace, uid, deletionTimestamp, labels } = pod.metadata;
  if (deletionTimestamp !== undefined) {
    await client.kind(Pod).delete({ name, namespace }, { uid, gracePeriodSeconds: 0 });
    return;
  }
  const behave = labels?.behave;
  const phase = behave === "succeed" ? "Succeeded" : behave === "fail" ? "Failed" : "Running";
  const ready = phase === "Running" && behave !== "never";
  const isReady =
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  if (pod.status?.phase === phase && isReady === ready && pod.status.podIP) return;
  const time = formatTime(Date.now());
  const exitCode = phase === "Failed" ? Number(labels?.code ?? 1) : 0;
  const state: JsonObject =
    phase === "Running"
      ? { running: { startedAt: time } }
      : {
          terminated: {
            exitCode,
            reason: exitCode ? "Error" : "Completed",
            startedAt: time,
            finishedAt: time,
          },
        };
  const condition = (type: string, is: boolean) => ({
    type,
    status: is ? "True" : "False",
    lastTransitionTime: time,
  });
  const status: JsonObject = {
    phase,
    podIP: ip,
    podIPs: [{ ip }],
    startTime: time,
    conditions: [
      condition("Initialized", true),
      condition("ContainersReady", ready),
      condition("Ready", ready),
    ],
    containerStatuses: pod.spec.containers.map((container) => ({
      name: container.name,
      image: container.image ?? "",
      imageID: "",
      ready,
      restartCount: 0,
      state,
    })),
  };
  await client
    .kind(Pod)
    .subresource("status")
    .patch({ name, namespace }, { type: "strategic", body: { status } });
}
