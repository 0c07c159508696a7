/**
 * Plays stories of the agents alone, without an operator:
 *
 *     node test/simulation/main.ts [--runs N] [--cpu-minutes M] [--seed S] [--failures F]
 *
 * Each seed is one story, and tells the same one again.
 */
import { parseArgs } from "node:util";
import { explore } from "./explore.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "Infinity" },
    "cpu-minutes": { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    failures: { type: "string", default: "1" },
  },
});
const [seed, runs, failures] = [Number(values.seed), Number(values.runs), Number(values.failures)];
const cpuMs = Number(values["cpu-minutes"]) * 60_000;
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
console.log(
  `from seed ${seed}: ${total.stories} stories, ${total.faults} faults, ${total.promotions} promotions, ` +
    `${total.acknowledged} acknowledged commits, ${total.broken} broken, ${Math.round(usedMs() / 1_000)} s of processor time`,
);
process.exitCode = total.broken === 0 ? 0 : 1;

/** What a seed's story is about: most commits wait for a majority, and most databases have three instances. */
function storyOf(number: number) {
  const durability = (["quorum", "quorum", "all", "async"] as const)[number % 4] ?? "quorum";
  return { seed: number, durability, instances: number % 5 === 0 ? 5 : 3, membersChange: number % 3 === 0 };
}
