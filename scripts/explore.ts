/** `npm run explore -- --operator etcd --runs N --seed S`: plays scenarios with compound faults, and reports. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { explore, formatReport, type Subject } from "@keelson/testing";
import type { RealSubject } from "../e2e/explore/real-subject.ts";
import { root } from "./run.ts";

const { values } = parseArgs({
  options: {
    operator: { type: "string", default: "etcd" },
    /** Scenarios to play. Default: 100, or until `--cpu-minutes` are used up. */
    runs: { type: "string" },
    /** Processor time to use. */
    "cpu-minutes": { type: "string" },
    /** The seed of the first scenario. `--runs 1` plays a seed again. */
    seed: { type: "string", default: "1" },
    /** Failures after which it ends. */
    failures: { type: "string", default: "1" },
    /** Most steps of a scenario. */
    steps: { type: "string" },
    /** Prints a failing scenario as it was generated. */
    "no-shrink": { type: "boolean", default: false },
    /** Plays each scenario on real processes too, and compares. */
    real: { type: "boolean", default: false },
    /** With `--real`: begins no scenario after so many minutes. */
    minutes: { type: "string" },
    /** With `--real`: so many scenarios at a time. */
    parallel: { type: "string", default: "1" },
  },
});

if (values.real) process.exit(await compare());

/** An operator, or a package that runs operators, brings a subject for the explorer. */
const file = ["operators", "packages"]
  .map((tree) => join(root, tree, values.operator, "test/explore/index.ts"))
  .find((path) => existsSync(path));
if (file === undefined) throw new Error(`nothing named ${values.operator} has a test/explore/index.ts`);
const { subject } = (await import(file)) as { readonly subject: Subject };
const cpuMinutes = values["cpu-minutes"];
const runs = values.runs ?? (cpuMinutes === undefined ? "100" : undefined);
const amount = {
  ...(runs === undefined ? {} : { runs: Number(runs) }),
  ...(cpuMinutes === undefined ? {} : { cpuMs: Number(cpuMinutes) * 60_000 }),
  seed: Number(values.seed),
  failures: Number(values.failures),
};
let toldMs = 0;
const report = await explore(subject, {
  ...amount,
  ...(values.steps === undefined ? {} : { mostSteps: Number(values.steps) }),
  shrinks: !values["no-shrink"],
  onRun: (_played, so) => {
    if (so.cpuMs - toldMs < 30_000) return;
    toldMs = so.cpuMs;
    console.error(
      `${so.runs} runs, ${(so.cpuMs / 1_000).toFixed(0)} s of processor time, ${so.failures.length} failures`,
    );
  },
});
console.log(formatReport(`${subject.name} from seed ${values.seed}`, report));
process.exitCode = report.failures.length === 0 ? 0 : 1;

async function compare(): Promise<number> {
  const { compareWorlds, comparedBefore, summary } = await import("../e2e/explore/compare.ts");
  const { real } = (await import(join(root, "e2e", values.operator, "explored.ts"))) as {
    readonly real: RealSubject;
  };
  const startedAt = performance.now();
  const compared = await compareWorlds(values.operator, real, {
    runs: Number(values.runs ?? "50"),
    seed: Number(values.seed),
    parallel: Number(values.parallel),
    ...(values.minutes === undefined ? {} : { minutes: Number(values.minutes) }),
    say: (sentence) =>
      console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`),
  });
  console.log(`now: ${summary(compared)}`);
  console.log(`all: ${summary(comparedBefore(values.operator))}`);
  return compared.every(({ problems }) => problems.length === 0) ? 0 : 1;
}
