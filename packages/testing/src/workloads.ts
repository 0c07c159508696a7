/** What makes an API server a cluster, in virtual time: its controllers, its scheduler and a node. */
import type { Client } from "@keelson/client";
import { startControllers } from "@keelson/cluster/controllers";
import type { Random, World } from "@keelson/core";
import { type Logger, operator } from "@keelson/runtime";
import { registerNode, type SimulatedNodeOptions, simulatedKubelet } from "./simulated-node.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface WorkloadServices {
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly log: Logger;
}

export async function startWorkloads(
  options: SimulatedNodeOptions,
  { client, clock, random, log }: WorkloadServices,
): Promise<AsyncDisposable> {
  const world: World = { clock, random: random.fork("workloads"), process: noProcess };
  const quiet = log.child({ manager: "kube-controller-manager" });
  const controllers = await clock.run(startControllers({ client, world, log: quiet }));
  await registerNode(client, options.name ?? "node-1", clock.now());
  const kubelet = await clock.run(
    operator({
      controllers: [simulatedKubelet(options)],
      client,
      world,
      log: quiet,
      leaderElection: false,
      endpoints: false,
    }).start(),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      await clock.run(Promise.all([kubelet.stop(), controllers.stop()]));
    },
  };
}

const noProcess: World["process"] = {
  env: {},
  hostname: "control-plane",
  pid: 1,
  run: async () => {
    throw new Error("a cluster in a test runs no commands");
  },
};
