/** The operator's own process: it dies, now or in the middle of something; it is stopped and continued. */

import type { JsonObject, Random } from "@keelson/core";
import { Lease } from "@keelson/core/kinds";
import { unlessGone } from "../../simulation/host.ts";
import type { CallFate } from "../../simulation/network.ts";
import type { Disturbance } from "../disturbance.ts";
import { isOfManagers, leases } from "../leases.ts";
import { pick } from "../plan.ts";

const chooseMoment = (random: Random): JsonObject => ({
  in: 1 + Math.floor(random.next() * 12),
  when: pick(["before", "after"], random),
});

const crash: Disturbance = {
  name: "operator: killed",
  begin: ({ simulation }) => simulation.cluster.crash(),
};

const crashAtWrite: Disturbance = {
  name: "operator: killed at a write",
  weight: 2,
  choose: chooseMoment,
  begin: ({ simulation }, args) =>
    simulation.cluster.crashAt(Number(args.in), args.when === "before" ? "before" : "after"),
};

/** The n-th call from now that changes the application ends in a certain way. */
function atCall(fate: (args: JsonObject) => CallFate): Disturbance["begin"] {
  return ({ simulation }, args) => {
    const { network } = simulation;
    const before = network.intercept;
    let left = Number(args.in);
    network.intercept = (call) => {
      if (call.write && --left === 0) return fate(args);
      return before(call);
    };
  };
}

const crashAtCall: Disturbance = {
  name: "operator: killed at a call to the application",
  weight: 2,
  choose: (random) => ({ ...chooseMoment(random), in: 1 + Math.floor(random.next() * 4) }),
  begin: atCall(({ when }) => (when === "before" ? "die-before" : "die-after")),
};

const callFails: Disturbance = {
  name: "application: a call fails",
  weight: 2,
  choose: (random) => ({
    in: 1 + Math.floor(random.next() * 4),
    how: pick(["refuse", "lose-answer"], random),
  }),
  begin: atCall(({ how }) => (how === "refuse" ? "refuse" : "lose-answer")),
};

/** Stopped long enough, it has lost its lease when it is continued. */
const pause: Disturbance = {
  name: "operator: stopped for a while",
  blinds: true,
  lastsMs: 120_000,
  begin: ({ simulation }) => {
    const [manager] = simulation.cluster.managers;
    manager?.pause();
    return () => manager?.resume();
  },
};

/** Someone deletes the lease, or another process is told to hold it: restored from a backup, or edited by hand. */
const leaseTouched: Disturbance = {
  name: "operator: its lease is touched",
  choose: (random) => ({ how: pick(["deleted", "taken over", "renamed"], random) }),
  begin: async ({ simulation: { client, stored, clock } }, { how }) => {
    for (const { metadata, spec } of stored.list(leases).filter(isOfManagers)) {
      const { name, namespace = "" } = metadata;
      const ref = { name, namespace };
      if (how === "deleted") {
        await unlessGone(client.kind(Lease).delete(ref));
        continue;
      }
      const renewed = {
        renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
        leaseTransitions: Number((spec as { leaseTransitions?: number }).leaseTransitions ?? 0) + 1,
      };
      const body = { spec: { holderIdentity: "somebody_else", ...(how === "taken over" && renewed) } };
      await unlessGone(client.kind(Lease).patch(ref, { type: "merge", body: body as never }));
    }
  },
};

export const managerDisturbances: readonly Disturbance[] = [
  crash,
  crashAtWrite,
  crashAtCall,
  callFails,
  pause,
  leaseTouched,
];
