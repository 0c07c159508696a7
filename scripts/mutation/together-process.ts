/** Tests that look at many mistakes in one process, which is started again when a mistake has it run for ever. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSecondsOf } from "./test-process.ts";

export interface TogetherQuestion {
  /** Of the repository. */
  readonly root: string;
  /** All files whose mistakes are counted through, in this order. */
  readonly files: readonly string[];
  /** The mistakes to try, by their place in the list of all. */
  readonly ids: readonly number[];
  /** Where the tests are, in the order in which they are asked. */
  readonly tests: readonly string[];
}

/** What became of the mistakes. */
export interface TogetherAnswer {
  readonly noticed: ReadonlySet<number>;
  /** Those that no test came by, or that are made while modules load. */
  readonly untried: ReadonlySet<number>;
}

/** Processor time in which a process that works has something to say. */
const silentSeconds = 60;
const mostStarts = 100;

export async function askTogether({ root, files, ids, tests }: TogetherQuestion): Promise<TogetherAnswer> {
  const scratch = mkdtempSync(join(tmpdir(), "keelson-mutants-"));
  const results = join(scratch, "results");
  writeFileSync(results, "");
  const env = { TOGETHER_FILES: files.join("\n"), TOGETHER_ONLY: ids.join(","), TOGETHER_RESULTS: results };
  try {
    // Those that cost little first: what they notice is not tried by the others.
    for (const directory of tests)
      for (let start = 0; start < mostStarts; start++)
        if (await runOnce({ root, directory, env, results })) break;
    const lines = readFileSync(results, "utf8")
      .split("\n")
      .map((line) => line.split(" "));
    const idsOf = (...words: string[]) =>
      new Set(lines.filter(([word = ""]) => words.includes(word)).map(([, id]) => Number(id)));
    const tried = idsOf("tried");
    return { noticed: idsOf("noticed"), untried: new Set(ids.filter((id) => !tried.has(id))) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** False when the process had to be ended. */
async function runOnce({
  root,
  directory,
  env,
  results,
}: {
  readonly root: string;
  readonly directory: string;
  readonly env: Record<string, string>;
  readonly results: string;
}): Promise<boolean> {
  const program = join(root, "node_modules/.bin/vitest");
  const args = ["run", directory, "--no-isolate", "--config", "scripts/mutation/vitest.together.config.ts"];
  const child = spawn(process.execPath, [program, ...args], {
    ...{ cwd: root, env: { ...process.env, ...env }, stdio: "ignore", detached: true },
  });
  let ended = false;
  const end = () => {
    ended = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  process.once("exit", end);
  let [said, saidAt] = [0, 0];
  const watch = setInterval(() => {
    const [length, seconds] = [readFileSync(results).length, cpuSecondsOf(child.pid)];
    if (length !== said) [said, saidAt] = [length, seconds];
    else if (seconds - saidAt > silentSeconds) end();
  }, 1_000);
  await once(child, "exit");
  clearInterval(watch);
  process.off("exit", end);
  return !ended;
}
