/** Lines between the operator, the application's parts and its clients. */
import type { Random } from "@keelson/core";
import { clientName, type Impairment, operatorName } from "../../simulation/network.ts";
import type { Disturbance } from "../disturbance.ts";
import { atFraction, pick, randomFraction } from "../plan.ts";
import type { World } from "../world.ts";

const ways: readonly Impairment[] = ["refused", "dropped", "slow", "one-way", "cut"];

const chooseLine = (random: Random) => ({
  how: pick(ways, random),
  which: randomFraction(random),
  ...(random.next() < 0.5 ? { ms: pick([300, 3_000, 30_000], random) } : {}),
});

function podName(world: World, fraction: unknown): string | undefined {
  return atFraction(world.pods, fraction)?.metadata.name;
}

/** The operator does not reach one pod, or, rarely, none. */
const operatorLine: Disturbance = {
  name: "line: operator to a pod",
  weight: 3,
  lastsMs: 300_000,
  choose: (random) => ({ ...chooseLine(random), all: random.next() < 0.2 }),
  begin: (world, { how, which, ms, all }) => {
    const to = all ? undefined : podName(world, which);
    if (!all && to === undefined) return;
    world.note(`operator → ${to ?? "every pod"}: ${how}`);
    return world.simulation.network.impair({
      from: operatorName,
      ...(to === undefined ? {} : { to }),
      how: how as Impairment,
      ...(typeof ms === "number" ? { ms } : {}),
    });
  },
};

/** Everyone loses one pod: a machine behind a firewall that drops packets. */
const isolated: Disturbance = {
  name: "line: a pod from everyone",
  weight: 2,
  lastsMs: 300_000,
  choose: (random) => ({ which: randomFraction(random), how: pick(["dropped", "refused"], random) }),
  begin: (world, { which, how }) => {
    const name = podName(world, which);
    if (name === undefined) return;
    world.note(`${name} is cut off: ${how}`);
    const { network } = world.simulation;
    const ends = [
      network.impair({ to: name, how: how as Impairment }),
      network.impair({ from: name, how: how as Impairment }),
    ];
    return () => {
      for (const end of ends) end();
    };
  },
};

const peers: Disturbance = {
  name: "line: between two pods",
  lastsMs: 300_000,
  choose: (random) => ({ ...chooseLine(random), other: randomFraction(random) }),
  begin: (world, { how, which, other, ms }) => {
    const [from, to] = [podName(world, which), podName(world, other)];
    if (from === undefined || to === undefined || from === to) return;
    world.note(`${from} → ${to}: ${how}`);
    return world.simulation.network.impair({
      from,
      to,
      how: how as Impairment,
      ...(typeof ms === "number" ? { ms } : {}),
    });
  },
};

const clients: Disturbance = {
  name: "line: clients to a pod",
  weight: 0.5,
  lastsMs: 120_000,
  choose: chooseLine,
  begin: (world, { how, which, ms }) => {
    const to = podName(world, which);
    if (to === undefined) return;
    return world.simulation.network.impair({
      from: clientName,
      to,
      how: how as Impairment,
      ...(typeof ms === "number" ? { ms } : {}),
    });
  },
};

export const lineDisturbances: readonly Disturbance[] = [operatorLine, isolated, peers, clients];
