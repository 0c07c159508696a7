/** A control plane of our own and real nodes, for tests that need pods with processes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import type { Stored } from "@keelson/core";
import { Pod, type PodSpec } from "@keelson/core/kinds";
import { type NodeHost, type NodeHostOptions, startNodes } from "../src/index.ts";

export interface RealPods extends AsyncDisposable {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly nodes: NodeHost;
  readonly home: string;
  create(name: string, spec: PodSpec, labels?: Record<string, string>): Promise<void>;
  /** Waits until the pod is as wanted; undefined stands for a pod that is gone. */
  until(name: string, wanted: (pod: Stored<Pod> | undefined) => boolean): Promise<Stored<Pod> | undefined>;
  /** Runs a pod to its end and returns its log's place in the API. */
  log(name: string): Promise<string>;
  remove(name: string): Promise<void>;
}

export const namespace = "default";
export const isReady = (pod: Stored<Pod> | undefined) =>
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
export const isOver = (pod: Stored<Pod> | undefined) =>
  ["Succeeded", "Failed"].includes(pod?.status?.phase ?? "");
export const isGone = (pod: Stored<Pod> | undefined) => pod === undefined;

export async function realPods(
  names: readonly string[],
  options: Partial<NodeHostOptions> = {},
): Promise<RealPods> {
  const stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "kn-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  try {
    const cluster = stack.use(await startCluster({ nodes: 0 }));
    const nodes = stack.use(
      await startNodes({
        bootstrapKubeconfig: cluster.bootstrapKubeconfig,
        names,
        dataDirectory: join(home, "nodes"),
        simulate: "never",
        ...options,
      }),
    );
    return podsOf(cluster.client, cluster.kubeconfig, nodes, home, stack);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

function podsOf(
  client: Client,
  kubeconfig: string,
  nodes: NodeHost,
  home: string,
  stack: AsyncDisposableStack,
): RealPods {
  const pods = client.kind(Pod);
  return {
    ...{ client, kubeconfig, nodes, home },
    async create(name, spec, labels = {}) {
      await pods.create({
        metadata: { name, namespace, labels },
        spec: { terminationGracePeriodSeconds: 1, ...spec },
      });
    },
    async until(name, wanted) {
      let seen: Stored<Pod> | undefined;
      for await (const event of pods.reflect({ namespace, fields: `metadata.name=${name}` })) {
        if (event.type === "restart") seen = undefined;
        if (event.type === "item" || event.type === "added" || event.type === "modified") seen = event.object;
        if (event.type === "deleted") seen = undefined;
        if (event.type !== "restart" && event.type !== "item" && wanted(seen)) return seen;
      }
      return undefined;
    },
    async log(name) {
      return String(await client.raw({ path: `/api/v1/namespaces/${namespace}/pods/${name}/log` }));
    },
    async remove(name) {
      await pods.delete({ namespace, name });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
