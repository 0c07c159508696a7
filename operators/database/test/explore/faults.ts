/** Faults that only a Database has: its agents speak to the API server and to a store. */
import { atFraction, type Disturbance, type Impairment, pick, randomFraction } from "@keelson/testing";
import type { SimPostgres } from "./application.ts";
import { apiName } from "./instance.ts";

type Fault = Disturbance<SimPostgres>;

const apiGone: Fault = {
  name: "agents: the API server is gone",
  lastsMs: 600_000,
  choose: (random) => ({ how: pick(["dropped", "refused", "slow"], random) }),
  begin: (world, { how }) =>
    world.simulation.network.impair({ to: apiName, how: how as Impairment, ms: 3_000 }),
};

const apiLost: Fault = {
  name: "agents: one does not reach the API server",
  weight: 2,
  lastsMs: 120_000,
  choose: (random) => ({
    which: randomFraction(random),
    how: pick(["dropped", "refused", "one-way", "cut", "slow"], random),
  }),
  begin: (world, { which, how }) => {
    const from = atFraction(world.pods, which)?.metadata.name;
    if (from === undefined) return;
    world.note(`${from} → ${apiName}: ${how}`);
    return world.simulation.network.impair({ from, to: apiName, how: how as Impairment, ms: 3_000 });
  },
};

/** The primary reaches everybody, and nobody reaches it. */
const deaf: Fault = {
  name: "agents: nobody reaches one",
  lastsMs: 120_000,
  choose: (random) => ({ which: randomFraction(random) }),
  begin: (world, { which }) => {
    const to = atFraction(world.pods, which)?.metadata.name;
    return to === undefined ? undefined : world.simulation.network.impair({ to, how: "dropped" });
  },
};

const crashed: Fault = {
  name: "PostgreSQL crashes, and its agent lives on",
  weight: 2,
  choose: (random) => ({ which: randomFraction(random) }),
  begin: ({ application, pods }, { which }) => {
    const name = atFraction(pods, which)?.metadata.name;
    if (name !== undefined) application.instance(name)?.server.die();
  },
};

const storeDown: Fault = {
  name: "the store of backups does not answer",
  lastsMs: 300_000,
  begin: ({ application }) => {
    application.isStoreDown = true;
    return () => {
      application.isStoreDown = false;
    };
  },
};

const upgradesFail: Fault = {
  name: "upgrades fail half-way",
  lastsMs: 300_000,
  begin: ({ application }) => {
    application.isUpgradeBroken = true;
    return () => {
      application.isUpgradeBroken = false;
    };
  },
};

export const faults: readonly Fault[] = [apiGone, apiLost, deaf, crashed, storeDown, upgradesFail];
