/**
 * Webhooks as they run in a cluster: an operator of two replicas in pods, behind its Service, under requests that never
 * stop. Prints what was measured: `npm run e2e:webhooks -- [--only id,id] [--list] [--seconds 20] [--built]`; `--built` takes
 * the image of the run before.
 */
import { parseArgs } from "node:util";
import { errorText } from "@keelson/core/internal";
import { Guarded } from "./guarded.ts";
import { scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    list: { type: "boolean", default: false },
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "25" },
    built: { type: "boolean", default: false },
  },
});
if (values.list) {
  for (const { id, promise } of scenarios) console.log(`${id.padEnd(10)} ${promise}`);
  process.exit(0);
}
const startedAt = performance.now();
const say = (sentence: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
const only = values.only?.split(",");
const chosen = scenarios.filter(({ id }) => only === undefined || only.includes(id));
const pace = { rate: Number(values.rate), seconds: Number(values.seconds) };
const lines = ["| promise | measured | kept |", "| --- | --- | --- |"];
let broken = 0;
{
  await using guarded = await Guarded.start(say, values.built);
  for (const { id, promise, run } of chosen) {
    say(`${id}: ${promise}`);
    const result = await run(guarded, pace).catch((error: unknown) => ({
      measured: "",
      broken: errorText(error),
    }));
    if (result.broken !== undefined) {
      broken++;
      say(`BROKEN ${result.broken}`);
    }
    lines.push(`| ${promise} | ${result.measured} | ${result.broken === undefined ? "yes" : "**no**"} |`);
  }
}
console.log(lines.join("\n"));
say(`${chosen.length - broken} of ${chosen.length} promises kept`);
process.exit(broken === 0 && chosen.length > 0 ? 0 : 1);
