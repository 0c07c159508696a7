/** Plays stories from seeds: `npm run explore -- --operator graphs --cpu-minutes 60`. */
import { story } from "./story.ts";

interface Options {
  readonly runs?: number;
  readonly cpuMs?: number;
  readonly seed: number;
  readonly failures: number;
}

/** Whether every story ended well. */
export async function play({ runs, cpuMs, seed, failures }: Options): Promise<boolean> {
  const before = process.cpuUsage();
  const usedMs = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  let failed = 0;
  let played = 0;
  while (
    (runs === undefined || played < runs) &&
    (cpuMs === undefined || usedMs() < cpuMs) &&
    failed < failures
  ) {
    const problem = await story(seed + played);
    if (problem !== undefined) {
      failed++;
      console.log(`seed ${seed + played}: ${problem}`);
    }
    played++;
  }
  console.log(
    `${played} stories from seed ${seed}, ${(usedMs() / 1_000).toFixed(0)} s of processor time, ${failed} failures`,
  );
  return failed === 0;
}
