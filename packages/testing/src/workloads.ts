/** What makes an API server a cluster, in virtual time: its controllers, its scheduler and a node. */
import type { Client } from "@keelson/client";
import { startControllers } from "@keelson/controllers";
import type { Random, World } from "@keelson/core";
import type { Logger } from "@keelson/runtime";
import { type SimulatedNodeOptions, startSimulatedNode } from "./simulated-node.ts";
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
  const controllers = await clock.run(startControllers({ client, world, removeVolume, log: quiet }));
  const node = await clock.run(startSimulatedNode({ client, world, log: quiet }, options));
  return {
    [Symbol.asyncDispose]: async () => {
      await clock.run(Promise.all([node[Symbol.asyncDispose](), controllers.stop()]));
    },
  };
}

/** There is no directory behind a volume. */
async function removeVolume(): Promise<void> {}

const noProcess: World["process"] = {
  env: {},
  hostname: "control-plane",
  pid: 1,
  run: async () => {
    throw new Error("a cluster in a test runs no commands");
  },
};
