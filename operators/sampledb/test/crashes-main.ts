/**
 * `npm run crashes:sampledb -- [--only scenario,scenario] [--sample n] [--seed s]`: the operator dies before and after every
 * write to the API server and every call that changes a Redis, in every scenario of the simulation; with `--sample` at so
 * many of these points in each, chosen at random by the seed.
 */
import { parseArgs } from "node:util";
import * as scenarios from "./scenarios.ts";
import { everyCrash } from "./simulation/explore.ts";

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
process.env["OPERATOR_IMAGE"] = "sampledb-operator:test";
let failed = 0;
for (const [name, scenario] of Object.entries(scenarios)) {
  if (only && !only.includes(name)) continue;
  try {
    const { writes, calls, runs } = await everyCrash(scenario, {
      ...sample,
      onRun: (done, of) => {
        if (done % 50 === 0) console.error(`${name}: ${done} of ${of}`);
      },
    });
    console.log(`${name}: ${writes} writes, ${calls} calls to Redis, ${runs} runs, none lost a write`);
  } catch (error) {
    failed++;
    console.log(`${name}: ${(error as Error).message}`);
  }
}
process.exit(failed === 0 ? 0 : 1);
