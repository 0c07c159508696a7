/** The operator itself goes, comes back, and is replaced, while clients write. */
import { operatorImages } from "../images.ts";
import type { Scenario } from "../scenario.ts";

const quiet = { "longest without a write": 1_000 };

export const operatorKilled: Scenario = {
  id: "operator",
  fault: "operator killed, and the primary with it",
  goal: "writes resume when it is back; no write lost",
  runs: 3,
  mayLosePlain: true,
  run: async (bench) => {
    await bench.replaceRestarted();
    await bench.world.operator.scale(0);
    await bench.world.operator.scale(1);
    await bench.world.operator.leads();
    const primary = await bench.primary();
    const epoch = (await bench.world.get(bench.name)).status?.epoch ?? 0;
    return await bench.disturbed({
      disturb: async () => {
        await bench.world.inject({ kind: "kill", pod: await bench.world.operator.pod() });
        await bench.world.inject({ kind: "kill", pod: bench.ref(primary) });
      },
      healed: async () => ((await bench.world.get(bench.name)).status?.epoch ?? 0) > epoch,
      limits: { "longest without a write": 45_000 },
    });
  },
};

export const operatorUpgraded: Scenario = {
  id: "opupgrade",
  fault: "operator upgraded",
  goal: "no server restarted, no outage",
  runs: 3,
  run: async (bench, nth) => {
    const pods = async () =>
      (await bench.world.pods(bench.name))
        .map(({ metadata }) => metadata.uid)
        .sort()
        .join();
    const before = await pods();
    const run = await bench.disturbed({
      disturb: async () => await bench.world.operator.install(operatorImages[(nth + 1) % 2] as string),
      limits: quiet,
    });
    return (await pods()) === before ? run : { ...run, missed: [...run.missed, "servers were restarted"] };
  },
};

export const operatorReinstalled: Scenario = {
  id: "opinstall",
  fault: "operator removed, and installed again",
  goal: "no server restarted, no outage",
  runs: 3,
  run: async (bench) => {
    const pods = async () =>
      (await bench.world.pods(bench.name))
        .map(({ metadata }) => metadata.uid)
        .sort()
        .join();
    const before = await pods();
    const run = await bench.disturbed({
      disturb: async () => {
        await bench.world.operator.remove();
        await bench.world.operator.install(operatorImages[0]);
      },
      limits: quiet,
    });
    return (await pods()) === before ? run : { ...run, missed: [...run.missed, "servers were restarted"] };
  },
};
