/** `npm run explore`: plays scenarios with compound faults, and reports. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { explore, formatReport, type Subject } from "@keelson/testing";
import type { RealSubject } from "../e2e/explore/real-subject.ts";
import { commandLine, refuse } from "./command-line.ts";
import { root } from "./run.ts";

const values = commandLine({
  command: "npm run explore",
  does: "Plays scenarios with compound faults in virtual time, each from its seed, and reports what an oracle found wrong.",
  options: {
    operator: { text: "NAME", default: "etcd", help: "the operator, or the package, that is disturbed" },
    runs: { number: "N", help: "scenarios to play (default: 100, or until --cpu-minutes are used up)" },
    "cpu-minutes": { number: "N", help: "processor time to use" },
    seed: { number: "S", default: 1, help: "seed of the first scenario; --runs 1 plays a seed again" },
    failures: { number: "N", default: 1, help: "failures after which it ends" },
    steps: { number: "N", help: "most steps of a scenario" },
    "no-shrink": { help: "print a failing scenario as it was generated" },
    real: { help: "play each scenario on real processes too, and compare" },
    again: {
      help: "with --real: play the recorded scenarios from --seed on, not those that the seeds give today",
    },
    minutes: { number: "N", help: "with --real: begin no scenario after so many minutes" },
    parallel: { number: "N", default: 1, help: "with --real: so many scenarios at a time" },
  },
});

if (values.real) process.exit(await compare());

/** An operator, or a package that runs operators, brings a subject for the explorer. */
const file = ["operators", "packages"]
  .map((tree) => join(root, tree, values.operator, "test/explore/index.ts"))
  .find((path) => existsSync(path));
if (file === undefined)
  refuse(`--operator ${values.operator}: there is no operators/${values.operator}/test/explore/index.ts`);
const { subject } = (await import(file)) as { readonly subject: Subject };
const cpuMinutes = values["cpu-minutes"];
const runs = values.runs ?? (cpuMinutes === undefined ? 100 : undefined);
const amount = {
  ...(runs === undefined ? {} : { runs }),
  ...(cpuMinutes === undefined ? {} : { cpuMs: cpuMinutes * 60_000 }),
  seed: values.seed,
  failures: values.failures,
};
let toldMs = 0;
const report = await explore(subject, {
  ...amount,
  ...(values.steps === undefined ? {} : { mostSteps: values.steps }),
  shrinks: !values["no-shrink"],
  onRun: ({ plan, violations: [violation] }, so) => {
    if (violation) console.error(`seed ${plan.seed}: ${violation.oracle}: ${violation.message}`);
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
  const { compareWorlds } = await import("../e2e/explore/compare.ts");
  const { comparedBefore, summary } = await import("../e2e/explore/records.ts");
  const { real } = (await import(join(root, "e2e", values.operator, "explored.ts"))) as {
    readonly real: RealSubject;
  };
  const startedAt = performance.now();
  const compared = await compareWorlds(values.operator, real, {
    runs: values.runs ?? (values.again ? Number.POSITIVE_INFINITY : 50),
    seed: values.seed,
    again: values.again,
    parallel: values.parallel,
    ...(values.minutes === undefined ? {} : { minutes: values.minutes }),
    say: (sentence) =>
      console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`),
  });
  console.log(`now: ${summary(compared)}`);
  console.log(`all: ${summary(comparedBefore(values.operator))}`);
  return compared.every(({ problems }) => problems.length === 0) ? 0 : 1;
}
