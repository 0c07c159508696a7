// Runs every test once as it is, and then once with each of the mistakes that it came by and that no other has noticed yet.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { type RunnerTestCase, TestRunner } from "vitest";
import { isAwake } from "./together.ts";

/** Time that the tests together may spend on one mistake that they do not notice. */
const patienceMs = 5_000;
/** A test with a mistake may take so many times what it takes without one. */
const slowness = 10;
const leastMs = 2_000;
/** Mistakes may make a program run for ever: no test comes by so many of them. */
const mostCalls = 200_000;

const { TOGETHER_RESULTS: results = "", TOGETHER_ONLY: only = "" } = process.env;

/** What is known while the tests of all files run, in one process. */
class Trial {
  readonly noticed = new Set<number>();
  readonly finished = new Set<string>();
  readonly spentMs = new Map<number, number>();
  readonly #seen = new Set<number>();
  readonly #chosen = new Set(only.split(",").map(Number));
  #passed: Set<number> | undefined;
  #awake: number | undefined;
  #calls = 0;

  constructor() {
    let tried: number | undefined;
    const lines = existsSync(results) ? readFileSync(results, "utf8").split("\n") : [];
    for (const [word, ...rest] of lines.map((line) => line.split(" "))) {
      if (word === "tried") tried = Number(rest[0]);
      else if (word === "noticed") this.noticed.add(Number(rest[0]));
      else if (word === "finished") this.finished.add(rest.join(" "));
      if (word === "noticed" || word === "survived") tried = undefined;
    }
    // The process before this one did not come back from it.
    if (tried !== undefined) this.#notice(tried);
  }

  readonly ask = (id: number): boolean => {
    this.#passed?.add(id);
    if (this.#awake === undefined) return false;
    if (++this.#calls > mostCalls) throw new Error("it runs for ever");
    return id === this.#awake;
  };

  /** The mistakes that the work comes by. */
  async watch(work: () => Promise<void>): Promise<readonly number[]> {
    const passed = new Set<number>();
    this.#passed = passed;
    try {
      await work();
    } finally {
      this.#passed = undefined;
    }
    for (const id of passed) if (!this.#seen.has(id)) this.#write("seen", id);
    for (const id of passed) this.#seen.add(id);
    return [...passed].filter((id) => this.#chosen.has(id) && !this.noticed.has(id));
  }

  async tryWith(id: number, work: () => Promise<void>, limitMs: number): Promise<void> {
    const spentMs = this.spentMs.get(id) ?? 0;
    if (spentMs > patienceMs) return;
    this.#write("tried", id);
    this.#awake = id;
    this.#calls = 0;
    const started = performance.now();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error("it takes too long")), limitMs);
    try {
      await Promise.race([work(), late]);
      this.#write("survived", id);
      this.spentMs.set(id, spentMs + performance.now() - started);
    } catch {
      this.#notice(id);
    } finally {
      clearTimeout(timer);
      this.#awake = undefined;
    }
  }

  finish(test: string): void {
    this.#write("finished", test);
  }

  #notice(id: number): void {
    this.noticed.add(id);
    this.#write("noticed", id);
  }

  #write(word: string, what: number | string): void {
    appendFileSync(results, `${word} ${what}\n`);
  }
}

// Files may share the process, and each has its own instance of this module.
const shared = globalThis as unknown as { keelsonTrial?: Trial; [isAwake]?: (id: number) => boolean };
shared.keelsonTrial ??= new Trial();
const trial = shared.keelsonTrial;
shared[isAwake] = trial.ask;

export default class TogetherRunner extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const name = `${test.file.name} ${test.suite?.name ?? ""} ${test.name}`.replaceAll("\n", " ");
    if (trial.finished.has(name)) return;
    const run = TestRunner.getTestFn(test) as () => Promise<void>;
    const work = async () => await run();
    const started = performance.now();
    const mistakes = await trial.watch(work);
    const limitMs = Math.max(leastMs, slowness * (performance.now() - started));
    if (mistakes.length > 0 && (await isRepeatable(work)))
      for (const id of mistakes) await trial.tryWith(id, work, limitMs);
    trial.finish(name);
  }
}

/** A test that fails when it runs again would notice every mistake. */
async function isRepeatable(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}
