/** A cluster of two nodes whose API server reaches pods, as webhooks need it. */
import { clusterDown, clusterUp, injectFault } from "@keelson/cluster";
import type { NodeHost } from "@keelson/node";
import { type ControlPlaneName, startGround } from "./control-plane.ts";

export interface Reachable {
  readonly kubeconfig: string;
  inject(fault: Parameters<NodeHost["inject"]>[0]): Promise<void>;
}

/** What was started ends with the stack. */
export async function startReachable(
  stack: AsyncDisposableStack,
  options: {
    readonly controlPlane: ControlPlaneName;
    /** The beginning of the cluster's name. */
    readonly name: string;
    readonly say: (sentence: string) => void;
  },
): Promise<Reachable> {
  const { controlPlane, say } = options;
  if (controlPlane === "reference") {
    const { plane, nodes } = await startGround(stack, { controlPlane, nodes: 2, say });
    return { kubeconfig: plane.kubeconfig, inject: async (fault) => await nodes.inject(fault) };
  }
  const name = `${options.name}-${process.pid}`;
  const { kubeconfig } = await clusterUp({ name, nodes: 2, onProgress: say });
  stack.defer(async () => void (await clusterDown(name)));
  // The cluster runs in the background: it must not outlive a run that breaks off.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void clusterDown(name).finally(() => process.exit(1)));
  }
  return { kubeconfig, inject: async (fault) => void (await injectFault(fault, name)) };
}
