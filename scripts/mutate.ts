/**
 * `npm run mutate -- --seed S --count N`: puts small mistakes into the code that decides, one at a time, and counts how many
 * the tests notice. Sources are not touched: the mistake is made while the tests load them. `--skip K` leaves out the first K
 * of the N, so that a long run can be made in pieces; only the first piece checks that the tests pass without a
 * mistake, and with `--unchecked` not even that. `--named` tries the mistakes of `mutation/named.ts` instead.
 * With `--near` only the tests run that cost little: what survives them is tried again with all.
 */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SeededRandom } from "@keelson/testing";
import { applyMutant, type Mutant, mutantsOf } from "./mutation/mutants.ts";
import { mutantOf, namedMutants } from "./mutation/named.ts";
import { TestProcess } from "./mutation/test-process.ts";

interface Subject {
  readonly sources: string;
  /** Where the tests are that must notice, in the order in which they are asked: first those that cost little. */
  readonly near: readonly string[];
  readonly far: readonly string[];
}

const subjects: Readonly<Record<string, Subject>> = {
  runtime: {
    sources: "packages/runtime/src/{queue,reconcile,children,status}/**/*.ts",
    near: ["packages/runtime/src/", "packages/runtime/test/engine", "packages/runtime/test/status"],
    far: ["packages/runtime/test/", "packages/testing/"],
  },
  etcd: {
    sources: "operators/etcd/src/{decide,observe}/**/*.ts",
    near: ["operators/etcd/test/decide/", "operators/etcd/src/"],
    far: [
      "operators/etcd/test/backup/controllers",
      "operators/etcd/test/compound-faults",
      "operators/etcd/test/",
    ],
  },
};

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    /** Numbers of the mutants to try, as printed. Default: all. */
    only: { type: "string" },
    skip: { type: "string", default: "0" },
    named: { type: "boolean", default: false },
    near: { type: "boolean", default: false },
    of: { type: "string", default: Object.keys(subjects).join(",") },
    list: { type: "boolean", default: false },
    unchecked: { type: "boolean", default: false },
  },
});
const root = resolve(import.meta.dirname, "..");
/** Processor time of the tests of one directory. */
const patienceSeconds = 240;

interface Chosen extends Mutant {
  readonly tests: readonly string[];
}

const skip = Number(values.skip);
const chosen = (values.named ? named() : choose(Number(values.seed), Number(values.count))).slice(skip);
if (values.list) for (const each of chosen) console.log(placeOf(each));
else await tryAll();

async function tryAll(): Promise<void> {
  using runner = new TestProcess({ root, patienceSeconds });
  if (skip === 0 && !values.unchecked) await checkTests(runner, chosen);
  const survivors: Chosen[] = [];
  const only = values.only?.split(",").map(Number);
  for (const [index, mutant] of chosen.entries()) {
    if (only && !only.includes(skip + index + 1)) continue;
    const file = join(root, mutant.file);
    const text = applyMutant(readFileSync(file, "utf8"), mutant);
    const by = await runner.ask({ file, text, tests: mutant.tests });
    if (by === undefined) survivors.push(mutant);
    const verdict = by === undefined ? "SURVIVED" : "killed  ";
    const who = by === undefined ? "" : ` (${by})`;
    console.log(`${String(skip + index + 1).padStart(4)} ${verdict} ${placeOf(mutant)}${who}`);
  }
  const killed = chosen.length - survivors.length;
  console.log(
    `${killed} of ${chosen.length} mutants killed (${((100 * killed) / chosen.length).toFixed(0)} %)`,
  );
}

function placeOf({ file, line, change }: Chosen): string {
  return `${file}:${line} ${change}`;
}

/** Mistakes that were made once. */
function named(): Chosen[] {
  const only = namedMutants.slice(0, values.count === undefined ? undefined : Number(values.count));
  return only.map((each) => ({
    ...mutantOf(each, readFileSync(join(root, each.file), "utf8")),
    tests: each.tests,
  }));
}

/** Without repetition, each mutant as likely as any other. */
function choose(seed: number, count: number): Chosen[] {
  const all = values.of.split(",").flatMap((name): Chosen[] => {
    const subject = subjects[name];
    if (subject === undefined)
      throw new Error(`there is no subject ${name}; there are ${Object.keys(subjects).join(", ")}`);
    const files = globSync(subject.sources, { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
    return files
      .sort()
      .flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")))
      .map((mutant) => ({
        ...mutant,
        tests: values.near ? subject.near : [...subject.near, ...subject.far],
      }));
  });
  console.log(
    `${all.length} mutants are possible; ${Math.min(count, all.length)} are tried, chosen by seed ${seed}`,
  );
  const random = new SeededRandom(seed);
  const chosen: Chosen[] = [];
  while (chosen.length < count && all.length > 0)
    chosen.push(...all.splice(Math.floor(random.next() * all.length), 1));
  return chosen;
}

/** Tests that fail without a mistake would notice every one. */
async function checkTests(runner: TestProcess, chosen: readonly Chosen[]): Promise<void> {
  for (const [file, mutant] of new Map(chosen.map((each) => [each.file, each]))) {
    const text = readFileSync(join(root, file), "utf8");
    const by = await runner.ask({ file: join(root, file), text, tests: mutant.tests });
    if (by !== undefined) throw new Error(`${by} fails as it is`);
  }
}
