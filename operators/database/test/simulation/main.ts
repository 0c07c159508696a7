/**
 * What `npm run explore -- --operator database` plays: stories of the agents' own code with a simulated PostgreSQL under
 * virtual time. Each seed is one story, and tells the same one again.
 */
import { explore } from "../simulation/explore.ts";

export interface Options {
  /** How many stories. Default: until the time is used up. */
  readonly runs?: number;
  /** Processor time to use. */
  readonly cpuMs?: number;
  readonly seed: number;
  /** Broken stories after which it ends. */
  readonly failures: number;
}

/** What a seed's story is about: most commits wait for a majority, and most databases have three instances. */
export function storyOf(seed: number) {
  const durability = (["quorum", "quorum", "all", "async"] as const)[seed % 4] ?? "quorum";
  return { seed, durability, instances: seed % 5 === 0 ? 5 : 3 };
}

/** Plays stories, prints those that break a rule with their faults, and a summary. True when none did. */
export async function play({
  runs = Number.POSITIVE_INFINITY,
  cpuMs = Number.POSITIVE_INFINITY,
  seed,
  failures,
}: Options): Promise<boolean> {
  const began = process.cpuUsage();
  const usedMs = () => process.cpuUsage(began).user / 1_000;
  const total = { stories: 0, broken: 0, acknowledged: 0, promotions: 0, faults: 0 };
  while (total.stories < runs && usedMs() < cpuMs && total.broken < failures) {
    const story = storyOf(seed + total.stories++);
    const { violations, faults, acknowledged, promotions } = await explore(story);
    total.acknowledged += acknowledged;
    total.promotions += promotions;
    total.faults += faults.length;
    if (violations.length === 0) continue;
    total.broken++;
    const { durability, instances } = story;
    console.log(
      `seed ${story.seed} (${durability}, ${instances} instances): ${violations.slice(0, 3).join("; ")}`,
    );
    console.log(`  ${faults.join(", ")}`);
  }
  const seconds = Math.round(usedMs() / 1_000);
  console.log(
    `database from seed ${seed}: ${total.stories} stories, ${total.faults} faults, ${total.promotions} promotions, ` +
      `${total.acknowledged} acknowledged commits, ${total.broken} broken, ${seconds} s of processor time`,
  );
  return total.broken === 0;
}
