/**
 * `npm run crashes`: the operator dies before and after every write to the API server and every call that changes the
 * application, in every journey of the simulation; with `--sample` at so many of these points in each, chosen at random.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { commandLine, refuse } from "./command-line.ts";
import { root } from "./run.ts";

/** What an operator's test/crashes.ts exports. */
interface Crashes<Journey = unknown> {
  readonly journeys: Readonly<Record<string, Journey>>;
  /** Throws when a run ends otherwise than it should, and says where the operator died. */
  everyCrash(
    journey: Journey,
    options: {
      readonly sample?: { readonly count: number; readonly seed: number };
      readonly onRun?: (done: number, of: number) => void;
    },
  ): Promise<{ readonly writes: number; readonly calls: number; readonly runs: number }>;
}

const values = commandLine({
  command: "npm run crashes",
  does: "The operator dies before and after every write to the API server and every call that changes the application, in every journey of the simulation.",
  options: {
    operator: { text: "NAME", default: "database", help: "an operator that has test/crashes.ts" },
    only: { text: "JOURNEY,…", help: "these journeys alone" },
    sample: { number: "N", help: "so many points in each journey, chosen by the seed, instead of all" },
    seed: { number: "S", default: 1, help: "with --sample" },
  },
});
const file = join(root, "operators", values.operator, "test/crashes.ts");
if (!existsSync(file))
  refuse(`--operator ${values.operator}: there is no operators/${values.operator}/test/crashes.ts`);
const { journeys, everyCrash } = (await import(file)) as Crashes;
const sample = values.sample === undefined ? {} : { sample: { count: values.sample, seed: values.seed } };
const only = values.only?.split(",");
const unknown = only?.find((name) => !(name in journeys));
if (unknown !== undefined)
  refuse(`there is no journey ${unknown}; there are ${Object.keys(journeys).join(", ")}`);
let failed = 0;
for (const [name, journey] of Object.entries(journeys)) {
  if (only && !only.includes(name)) continue;
  try {
    const { writes, calls, runs } = await everyCrash(journey, {
      ...sample,
      onRun: (done, of) => {
        if (done % 50 === 0) console.error(`${name}: ${done} of ${of}`);
      },
    });
    console.log(`${name}: ${writes} writes, ${calls} calls, ${runs} runs, all ended as they should`);
  } catch (error) {
    failed++;
    console.log(`${name}: ${(error as Error).message}`);
  }
}
process.exit(failed === 0 ? 0 : 1);
