/** Runs a scenario once for every write that it makes, with a manager that dies before it and one that dies after it. */
import { type Cluster, type ClusterOptions, cluster } from "./cluster.ts";
import { describeWrite } from "./observed-request.ts";

/** How often a scenario was run, and with which crashes. */
export interface EveryCrashReport {
  /** Writes of the undisturbed run. */
  readonly writes: number;
  readonly runs: number;
}

/**
 * The scenario must assert what is to hold at each of its stages. It runs undisturbed first, to see that it passes and
 * to count its writes. When a disturbed run fails, the error says which crash it was.
 */
export async function everyCrash(
  options: ClusterOptions,
  scenario: (cluster: Cluster) => Promise<void>,
): Promise<EveryCrashReport> {
  const writes = await undisturbed(options, scenario);
  let runs = 1;
  for (let index = 1; index <= writes.length; index++) {
    for (const when of ["before", "after"] as const) {
      await using disturbed = await cluster(options);
      disturbed.crashAt(index, when);
      try {
        await scenario(disturbed);
      } catch (cause) {
        const write = disturbed.writes[index - 1];
        throw new Error(
          `crashed ${when} write ${index} of ${writes.length}${write ? ` (${describeWrite(write)})` : ""}: ` +
            (cause as Error).message,
          { cause },
        );
      }
      runs++;
    }
  }
  return { writes: writes.length, runs };
}

async function undisturbed(options: ClusterOptions, scenario: (cluster: Cluster) => Promise<void>) {
  await using quiet = await cluster(options);
  await scenario(quiet);
  return [...quiet.writes];
}
