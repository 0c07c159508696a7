/**
 * `npm run explore:database -- [--seeds 1-100] [--seconds 60] [--trace]`: random stories under virtual time, until the
 * seeds or the time run out. Each seed that breaks a rule is printed with its faults; it tells the same story again.
 */
import { parseArgs } from "node:util";
import { explore } from "./simulation/explore.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    seconds: { type: "string", default: "60" },
    trace: { type: "boolean", default: false },
  },
});
const [from = Math.floor(Math.random() * 1e9), to = Number.POSITIVE_INFINITY] =
  values.seeds?.split("-").map(Number) ?? [];
const untilMs =
  values.seeds === undefined ? process.cpuUsage().user / 1_000 + Number(values.seconds) * 1_000 : Infinity;
const total = { stories: 0, broken: 0, acknowledged: 0, promotions: 0 };
for (let seed = from; seed <= to && process.cpuUsage().user / 1_000 < untilMs; seed++) {
  const durability = (["quorum", "quorum", "all", "async"] as const)[seed % 4] ?? "quorum";
  const instances = seed % 5 === 0 ? 5 : 3;
  const { violations, faults, trace, acknowledged, promotions } = await explore({
    seed,
    durability,
    instances,
  });
  total.stories++;
  total.acknowledged += acknowledged;
  total.promotions += promotions;
  if (violations.length === 0) continue;
  total.broken++;
  console.log(
    `seed ${seed} (${durability}, ${instances} instances): ${violations.slice(0, 3).join("; ")}\n  ${faults.join(", ")}`,
  );
  if (values.trace) console.log(trace.join("\n"));
}
console.log(JSON.stringify({ ...total, cpuSeconds: Math.round(process.cpuUsage().user / 1e6) }));
process.exitCode = total.broken === 0 ? 0 : 1;
