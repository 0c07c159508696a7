/** Kills the operator before and after everything it does, one run for each, and demands the same end every time. */
import { World, type WorldCheckpoint, type WorldOptions } from "./world.ts";

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

export interface ExploreOptions extends WorldOptions {
  /** At most so many crashes, spread evenly over the scenario. Default: all of them. */
  readonly atMost?: number;
}

export async function everyCrash(scenario: Scenario, given: ExploreOptions = {}): Promise<Explored> {
  const options = { ...given, ...(await prepared(scenario, given)) };
  const calm = await run(scenario, options, () => {});
  const points = crashPoints(calm);
  const stride = Math.max(1, points.length / (options.atMost ?? points.length));
  let runs = 1;
  for (let at = 0; Math.floor(at) < points.length; at += stride) {
    const point = points[Math.floor(at)] as CrashPoint;
    await run(scenario, options, point.plan, point.label);
    runs++;
  }
  return { ...calm, runs };
}

interface CrashPoint {
  readonly label: string;
  readonly plan: (world: World) => void;
}

function crashPoints({ writes, calls }: { writes: number; calls: number }): CrashPoint[] {
  return (["before", "after"] as const).flatMap((when) => [
    ...Array.from({ length: writes }, (_, n) => ({
      label: `the operator died ${when} write ${n + 1} of ${writes}`,
      plan: (world: World) => world.cluster.crashAt(n + 1, when),
    })),
    ...Array.from({ length: calls }, (_, n) => ({
      label: `the operator died ${when} call ${n + 1} of ${calls} to etcd`,
      plan: (world: World) => world.dieAt(n + 1, when),
    })),
  ]);
}

/** Where the scenario begins: reached once, and gone on from for every crash. */
async function prepared({ prepare }: Scenario, options: WorldOptions): Promise<{ from?: WorldCheckpoint }> {
  if (!prepare) return {};
  await using world = await World.start(options);
  await prepare(world);
  return { from: world.checkpoint() };
}

async function run(
  { play }: Scenario,
  options: WorldOptions,
  plan: (world: World) => void,
  label = "undisturbed",
): Promise<{ writes: number; calls: number }> {
  await using world = await World.start(options);
  plan(world);
  try {
    await play(world);
  } catch (cause) {
    const last = world.cluster.writes
      .slice(-6)
      .map(({ atMs, method, path }) => `  ${atMs} ${method} ${path}`);
    throw new Error(`${label}: ${(cause as Error).message}\n${last.join("\n")}`, { cause });
  }
  return { writes: world.cluster.writes.length, calls: world.calls.length };
}
