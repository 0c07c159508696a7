/**
 * `npm run mutate -- --seed S --count N`: puts small mistakes into the code that decides, one at a time, and counts how many
 * the tests notice. Sources are not touched: the mistake is made while the tests load them.
 */
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SeededRandom } from "@keelson/testing";
import { applyMutant, type Mutant, mutantsOf } from "./mutation/mutants.ts";

interface Subject {
  readonly sources: string;
  /** Where the tests are that must notice, in the order in which they are asked. */
  readonly tests: readonly string[];
}

const subjects: Readonly<Record<string, Subject>> = {
  runtime: {
    sources: "packages/runtime/src/{queue,reconcile,children,status}/**/*.ts",
    tests: ["packages/runtime", "packages/testing"],
  },
  etcd: {
    sources: "operators/etcd/src/{decide,observe}/**/*.ts",
    tests: ["operators/etcd/test/decide", "operators/etcd"],
  },
};

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    of: { type: "string", default: Object.keys(subjects).join(",") },
    list: { type: "boolean", default: false },
  },
});
const root = resolve(import.meta.dirname, "..");
/** Mistakes may make a program run for ever, which is noticed too. */
const patienceMs = 600_000;

interface Chosen extends Mutant {
  readonly tests: readonly string[];
}

const scratch = mkdtempSync(join(tmpdir(), "keelson-mutant-"));
try {
  const chosen = choose(Number(values.seed), Number(values.count));
  if (!values.list) await checkTests(chosen);
  const survivors: Chosen[] = [];
  for (const [index, mutant] of chosen.entries()) {
    const place = `${mutant.file}:${mutant.line} ${mutant.change}`;
    if (values.list) {
      console.log(place);
      continue;
    }
    const noticed = await isNoticed(mutant);
    if (!noticed) survivors.push(mutant);
    console.log(`${String(index + 1).padStart(4)} ${noticed ? "killed  " : "SURVIVED"} ${place}`);
  }
  if (!values.list) {
    const killed = chosen.length - survivors.length;
    console.log(
      `${killed} of ${chosen.length} mutants killed (${((100 * killed) / chosen.length).toFixed(0)} %)`,
    );
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
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
      .map((mutant) => ({ ...mutant, tests: subject.tests }));
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
async function checkTests(chosen: readonly Chosen[]): Promise<void> {
  for (const tests of new Set(chosen.flatMap((mutant) => mutant.tests)))
    if (!(await testsPass(["run"], tests))) throw new Error(`tests in ${tests} fail as they are`);
}

async function isNoticed(mutant: Chosen): Promise<boolean> {
  const text = join(scratch, "text.ts");
  writeFileSync(text, applyMutant(readFileSync(join(root, mutant.file), "utf8"), mutant));
  const env = { MUTANT_FILE: join(root, mutant.file), MUTANT_TEXT: text };
  for (const tests of mutant.tests)
    if (!(await testsPass(["related", mutant.file, "--run", "--passWithNoTests"], tests, env))) return true;
  return false;
}

function testsPass(
  what: readonly string[],
  directory: string,
  env: Record<string, string> = {},
): Promise<boolean> {
  const program = join(root, "node_modules/.bin/vitest");
  const args = [...what, "--bail=1", "--config", "scripts/mutation/vitest.config.ts", "--dir", directory];
  return new Promise((settle) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: "ignore",
      timeout: patienceMs,
    });
    child.once("exit", (code) => settle(code === 0));
  });
}
