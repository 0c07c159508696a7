/** Tests that look at one mistake, in a process of their own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file and what it says instead, and where the tests are that must notice, in the order in which they are asked. */
export interface Question {
  readonly file: string;
  readonly text: string;
  readonly tests: readonly string[];
}

export interface TestProcessOptions {
  /** Of the repository. */
  readonly root: string;
  /**
   * Processor time that the tests of one directory may take before they have passed once. Mistakes may make a program run
   * for ever.
   */
  readonly patienceSeconds: number;
}

const watchMs = 1_000;
/** Tests that have passed are given so many times what they took, and no less than `leastSeconds`. */
const patience = 4;
const leastSeconds = 20;
/** Of the clock in which Linux counts processor time. */
const ticksPerSecond = 100;

export class TestProcess implements Disposable {
  readonly #options: TestProcessOptions;
  readonly #scratch = mkdtempSync(join(tmpdir(), "keelson-mutant-"));
  /** Processor time that the tests of a directory took when they passed. */
  readonly #took = new Map<string, number>();

  constructor(options: TestProcessOptions) {
    this.#options = options;
  }

  /** Which tests noticed; undefined when none did. */
  async ask({ file, text, tests }: Question): Promise<string | undefined> {
    const mistake = join(this.#scratch, "text.ts");
    writeFileSync(mistake, text);
    for (const directory of tests)
      if (!(await this.#pass(directory, { MUTANT_FILE: file, MUTANT_TEXT: mistake }))) return directory;
    return undefined;
  }

  async #pass(directory: string, env: Record<string, string>): Promise<boolean> {
    const { root, patienceSeconds } = this.#options;
    const program = join(root, "node_modules/.bin/vitest");
    // Test files share a worker: none of them changes what another one imports, and importing costs most of the time.
    const args = ["run", directory, "--bail=1", "--no-isolate", "--passWithNoTests"];
    const child = spawn(
      process.execPath,
      [program, ...args, "--config", "scripts/mutation/vitest.config.ts"],
      { cwd: root, env: { ...process.env, ...env }, stdio: "ignore", detached: true },
    );
    const end = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
    process.once("exit", end);
    const known = this.#took.get(directory);
    const limit = known === undefined ? patienceSeconds : Math.max(leastSeconds, patience * known);
    let seconds = 0;
    const watch = setInterval(() => {
      seconds = cpuSecondsOf(child.pid);
      if (seconds > limit) end();
    }, watchMs);
    const [code] = await once(child, "exit");
    clearInterval(watch);
    process.off("exit", end);
    if (code === 0) this.#took.set(directory, Math.max(seconds, known ?? 0));
    return code === 0;
  }

  [Symbol.dispose](): void {
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}

/** Processor time of a process group. */
export function cpuSecondsOf(group: number | undefined): number {
  let ticks = 0;
  for (const file of globSync("/proc/[0-9]*/stat")) {
    try {
      const text = readFileSync(file, "utf8");
      // The name may hold anything, in parentheses.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      if (Number(fields[2]) === group) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended.
    }
  }
  return ticks / ticksPerSecond;
}
