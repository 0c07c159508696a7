/** Kills the operator before and after everything it does, one run for each, and demands the same end every time. */
import { World, type WorldOptions } from "./world.ts";

export interface Scenario {
  /** Brings the world to where the scenario begins, undisturbed. */
  readonly prepare?: (world: World) => Promise<void>;
  /** Asserts what is to hold at each of its stages. */
  readonly play: (world: World) => Promise<void>;
}

export interface Explored {
  /** Writes to the API server and calls that change etcd, of the undisturbed run. */
  readonly writes: number;
  readonly calls: number;
  readonly runs: number;
}

export async function everyCrash(scenario: Scenario, options: WorldOptions = {}): Promise<Explored> {
  const calm = await run(scenario, options, () => {});
  let runs = 1;
  for (const when of ["before", "after"] as const) {
    for (let index = 1; index <= calm.writes; index++) {
      await run(scenario, options, (world) => world.cluster.crashAt(index, when), `${when} write ${index}`);
      runs++;
    }
    for (let index = 1; index <= calm.calls; index++) {
      await run(scenario, options, (world) => world.dieAt(index, when), `${when} call ${index}`);
      runs++;
    }
  }
  return { ...calm, runs };
}

async function run(
  { prepare, play }: Scenario,
  options: WorldOptions,
  plan: (world: World) => void,
  label = "undisturbed",
): Promise<{ writes: number; calls: number }> {
  await using world = await World.start(options);
  await prepare?.(world);
  const before = { writes: world.cluster.writes.length, calls: world.calls.length };
  plan(world);
  try {
    await play(world);
  } catch (cause) {
    const last = world.cluster.writes
      .slice(-6)
      .map(({ atMs, method, path }) => `  ${atMs} ${method} ${path}`);
    throw new Error(`${label}: ${(cause as Error).message}\n${last.join("\n")}`, { cause });
  }
  return {
    writes: world.cluster.writes.length - before.writes,
    calls: world.calls.length - before.calls,
  };
}
