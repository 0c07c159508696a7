/**
 * `npm run mutate`: puts small mistakes into the code that decides, one at a time, and counts how many the tests notice.
 * Sources are not touched: the mistake is made while the tests load them. Only the first piece of a run that is made in
 * pieces (`--skip`) checks that the tests pass without a mistake.
 */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { SeededRandom } from "@keelson/testing";
import { commandLine, refuse } from "./command-line.ts";
import { applyMutant, type Mutant, mutantsOf } from "./mutation/mutants.ts";
import { mutantOf, namedMutants } from "./mutation/named.ts";
import { TestProcess } from "./mutation/test-process.ts";
import { askTogether } from "./mutation/together-process.ts";

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

const values = commandLine({
  command: "npm run mutate",
  does: "Puts small mistakes into the code that decides, one at a time, and counts how many the tests notice.",
  options: {
    seed: { number: "S", default: 1, help: "chooses the mistakes" },
    count: { number: "N", help: "how many (default: 100, or all of --named)" },
    of: { text: "NAME,…", default: Object.keys(subjects).join(","), help: "whose code" },
    only: { text: "N,…", help: "these alone, by the numbers that a run prints" },
    skip: { number: "K", default: 0, help: "without the first K, so that a long run can be made in pieces" },
    named: { help: "the mistakes of scripts/mutation/named.ts instead" },
    near: { help: "with the tests alone that cost little; try what survives them again with all" },
    together: {
      help: "first all of them in one process, by the tests that cost little; then those that survive, one at a time",
    },
    list: { help: "print the mistakes, and try none" },
    unchecked: { help: "do not first check that the tests pass without a mistake" },
  },
});
const root = resolve(import.meta.dirname, "..");
/** Processor time of the tests of one directory. */
const patienceSeconds = 240;

interface Chosen extends Mutant {
  readonly tests: readonly string[];
  /** Its place among all that are possible. */
  readonly id?: number;
}

const { skip } = values;
const chosen = (values.named ? named() : choose(values.seed, values.count ?? 100)).slice(skip);
if (values.list) for (const each of chosen) console.log(placeOf(each));
else await tryAll();

async function tryAll(): Promise<void> {
  using runner = new TestProcess({ root, patienceSeconds });
  if (skip === 0 && !values.unchecked) await checkTests(runner, chosen);
  const only = values.only?.split(",").map(Number);
  const together = values.together ? await tryTogether() : new Set<number>();
  let tried = 0;
  let killed = 0;
  for (const [index, mutant] of chosen.entries()) {
    if (only && !only.includes(skip + index + 1)) continue;
    tried++;
    const file = join(root, mutant.file);
    const text = applyMutant(readFileSync(file, "utf8"), mutant);
    const isKnown = mutant.id !== undefined && together.has(mutant.id);
    const by = isKnown ? "together" : await runner.ask({ file, text, tests: mutant.tests });
    if (by !== undefined) killed++;
    const verdict = by === undefined ? "SURVIVED" : "killed  ";
    const who = by === undefined ? "" : ` (${by})`;
    console.log(`${String(skip + index + 1).padStart(4)} ${verdict} ${placeOf(mutant)}${who}`);
  }
  const percent = tried === 0 ? "" : ` (${((100 * killed) / tried).toFixed(0)} %)`;
  console.log(`${killed} of ${tried} mutants killed${percent}`);
}

/** Which of the chosen are noticed when all are tried in one process. */
async function tryTogether(): Promise<ReadonlySet<number>> {
  const names = values.of.split(",");
  const { noticed, untried } = await askTogether({
    ...{ root, ids: chosen.flatMap(({ id }) => id ?? []) },
    files: names.flatMap((name) => sourcesOf(subjects[name] as Subject)),
    tests: names.flatMap((name) => (subjects[name] as Subject).near),
  });
  console.log(
    `${noticed.size} of ${chosen.length} are noticed together; no test came by ${untried.size} of the others`,
  );
  return noticed;
}

function sourcesOf({ sources }: Subject): string[] {
  return globSync(sources, { cwd: root })
    .filter((file) => !file.endsWith(".test.ts"))
    .sort();
}

function placeOf({ file, line, change }: Chosen): string {
  return `${file}:${line} ${change}`;
}

/** Mistakes that were made once. */
function named(): Chosen[] {
  const only = namedMutants.slice(0, values.count);
  return only.map((each) => ({
    ...mutantOf(each, readFileSync(join(root, each.file), "utf8")),
    tests: each.tests,
  }));
}

/** Without repetition, each mutant as likely as any other. */
function choose(seed: number, count: number): Chosen[] {
  const possible = values.of.split(",").flatMap((name): Chosen[] => {
    const subject = subjects[name];
    if (subject === undefined) refuse(`--of ${name}: there are ${Object.keys(subjects).join(", ")}`);
    return sourcesOf(subject)
      .flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")))
      .map((mutant) => ({
        ...mutant,
        tests: values.near ? subject.near : [...subject.near, ...subject.far],
      }));
  });
  const all = possible.map((mutant, id): Chosen => ({ ...mutant, id }));
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
  const files = new Map(chosen.flatMap(({ file, tests }) => tests.map((each) => [each, file] as const)));
  for (const [directory, name] of files) {
    const file = join(root, name);
    const by = await runner.ask({ file, text: readFileSync(file, "utf8"), tests: [directory] });
    if (by !== undefined) throw new Error(`${by} fails as it is`);
  }
}
