/**
 * `npm run crashes:database -- [--only journey,journey] [--sample n] [--seed s]`: the operator dies before and after every
 * write to the API server and every call to an agent that changes something, in every journey; with `--sample` at so many
 * of these points in each, chosen at random by the seed.
 */
import { parseArgs } from "node:util";
import { everyCrash, journeys } from "./crashes.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const sample =
  values.sample === undefined ? {} : { sample: { count: Number(values.sample), seed: Number(values.seed) } };
const only = values.only?.split(",");
let failed = 0;
for (const [name, journey] of Object.entries(journeys)) {
  if (only && !only.includes(name)) continue;
  try {
    const { writes, calls, runs, deaths } = await everyCrash(journey, {
      ...sample,
      onRun: (done, of) => {
        if (done % 50 === 0) console.error(`${name}: ${done} of ${of}`);
      },
    });
    console.log(
      `${name}: ${writes} writes, ${calls} calls to agents, ${runs} runs, ${deaths} deaths, all ended the same`,
    );
  } catch (error) {
    failed++;
    console.log(`${name}: ${(error as Error).message}`);
  }
}
process.exit(failed === 0 ? 0 : 1);
