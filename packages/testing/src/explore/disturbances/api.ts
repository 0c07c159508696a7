/** What the API server and the way to it do to an operator. */
import type { Random } from "@keelson/core";
import { conflict, type Fault, serverError, tooManyRequests } from "../../faults.ts";
import type { ObservedRequest } from "../../observed-request.ts";
import type { Disturbance } from "../disturbance.ts";
import { atFraction, pick, randomFraction } from "../plan.ts";
import type { World } from "../world.ts";

const faults: Readonly<Record<string, Fault>> = {
  conflict: conflict(),
  "too many requests": tooManyRequests(2),
  "internal error": serverError(500),
  unavailable: serverError(503),
  refused: { type: "refuse" },
  reset: { type: "reset" },
  "answer lost": { type: "lose-answer" },
  "timeout after commit": { type: "timeout-after-commit" },
};

const names = Object.keys(faults);

function isReal(request: ObservedRequest): boolean {
  return request.resource !== "leases";
}

/** The next few writes go wrong. At most five conflicts in a row: more would be unfair to any loop. */
const writesFail: Disturbance = {
  name: "API: writes fail",
  weight: 3,
  choose: (random: Random) => {
    const how = pick(names, random);
    const times = 1 + Math.floor(random.next() * 5);
    // Each of these holds a reconcile until its request times out.
    return { how, times: how === "timeout after commit" ? 1 : times };
  },
  begin: ({ simulation }, { how, times }) => {
    const fault = faults[String(how)] as Fault;
    simulation.cluster.faults.inject({
      on: (request) => request.write && isReal(request),
      fault,
      times: Number(times),
    });
  },
};

const readsFail: Disturbance = {
  name: "API: reads fail",
  choose: (random: Random) => ({
    how: pick(["internal error", "unavailable", "refused", "reset"], random),
    times: 1 + Math.floor(random.next() * 5),
  }),
  begin: ({ simulation }, { how, times }) => {
    const fault = faults[String(how)] as Fault;
    simulation.cluster.faults.inject({
      on: (request) => !request.write && isReal(request),
      fault,
      times: Number(times),
    });
  },
};

const slow: Disturbance = {
  name: "API: slow",
  blinds: true,
  lastsMs: 60_000,
  choose: (random: Random) => ({ ms: pick([200, 2_000, 15_000], random) }),
  begin: (world, { ms }) => {
    let over = false;
    world.simulation.cluster.faults.inject({
      // A lease that cannot be renewed in time is lost.
      on: (request) => !over && !request.watch,
      fault: { type: "delay", ms: Number(ms) },
      times: Number.POSITIVE_INFINITY,
    });
    return () => {
      over = true;
    };
  },
};

const outage: Disturbance = {
  name: "API: outage",
  blinds: true,
  lastsMs: 120_000,
  begin: ({ simulation }) => {
    const { end } = simulation.cluster.outage();
    return end;
  },
};

/** Resources that the operator watches. */
function watched({ simulation }: World): string[] {
  const open = simulation.cluster.managers.flatMap(({ port }) => [...port.streams]);
  return [...new Set(open.map(({ observed }) => observed.resource))]
    .filter((each) => each !== "leases")
    .sort();
}

const staleCache: Disturbance = {
  name: "API: stale cache",
  blinds: true,
  weight: 2,
  lastsMs: 60_000,
  choose: (random: Random) => ({ resource: randomFraction(random) }),
  begin: (world, args) => {
    const { faults: held } = world.simulation.cluster;
    const resource = atFraction(watched(world), args.resource);
    if (resource === undefined) return;
    world.note(`events of ${resource} are held back`);
    held.hold(resource);
    return () => held.release(resource);
  },
};

const breakWatches: Disturbance = {
  name: "API: watches break",
  choose: (random: Random) => ({ how: pick(["break", "end", "lose history"], random) }),
  begin: ({ simulation: { cluster } }, { how }) => {
    if (how === "lose history") cluster.loseHistory();
    else if (how === "end") cluster.endWatches();
    else cluster.breakWatches();
  },
};

export const apiDisturbances: readonly Disturbance[] = [
  writesFail,
  readsFail,
  slow,
  outage,
  staleCache,
  breakWatches,
];
