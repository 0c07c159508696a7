import { expect, test } from "vitest";
import type { PodWorker } from "../kubelet/pod-worker.ts";
import type { Delays } from "../network/delays.ts";
import type { ServiceNetwork } from "../network/service-network.ts";
import type { Cut } from "../network/service-rules.ts";
import { PodFaults } from "./pod-faults.ts";

test("a pod that went while it was cut off leaves no cut behind", async () => {
  const addresses = new Map([
    ["a", "10.0.0.1"],
    ["b", "10.0.0.2"],
  ]);
  let cuts: readonly Cut[] = [];
  const setCuts = async (now: readonly Cut[]) => {
    cuts = now;
  };
  const faults = new PodFaults({
    volume: async () => undefined,
    find: ({ name }) => {
      const address = addresses.get(name);
      return address === undefined ? undefined : ({ address } as PodWorker);
    },
    network: { setCuts } as unknown as ServiceNetwork,
    delays: {} as Delays,
  });
  const pod = (name: string) => ({ namespace: "default", name });
  await faults.inject({ kind: "cut", pod: pod("a"), direction: "both" });
  await faults.inject({ kind: "cut", pod: pod("b"), direction: "out" });
  addresses.delete("a");
  await faults.inject({ kind: "mend", pod: pod("a") });
  expect(cuts).toEqual([{ from: "10.0.0.2" }]);
  await expect(faults.inject({ kind: "mend", pod: pod("a") })).rejects.toThrow("is not on this node");
});
