/** The last lines of a test run: why tests were skipped, what was simulated, and the count. */
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

declare module "vitest" {
  interface TaskMeta {
    /** Set by a test whose pods had no process behind them; its pass is counted apart. */
    simulated?: string;
  }
}

export default class SummaryReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const log = (line: string) => this.#vitest?.logger.log(line);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    const by = (state: string) => tests.filter((test) => test.result().state === state);
    const simulated = by("passed").filter((test) => test.meta().simulated);
    printGroups(log, "skipped", by("skipped"), (test) => skipNote(test));
    printGroups(log, "simulated", simulated, (test) => test.meta().simulated ?? "");
    const passed = by("passed").length;
    if (simulated.length > 0)
      log(`${passed - simulated.length} on real processes, ${simulated.length} simulated`);
    const failed = by("failed").length + broken;
    const skipped = by("skipped").length;
    log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  }
}

/** What the test itself says, or else the name of what was skipped, a test or a whole suite, which says what it needs. */
function skipNote(test: TestCase): string {
  const result = test.result();
  const note = result.state === "skipped" ? result.note : undefined;
  const { parent } = test;
  const isWhole = parent.type === "suite" && parent.options.mode === "skip" && parent.children.size > 1;
  return note ?? (isWhole ? parent : test).fullName;
}

function printGroups(
  log: (line: string) => void,
  title: string,
  tests: readonly TestCase[],
  reasonOf: (test: TestCase) => string,
): void {
  const groups = Map.groupBy(tests, reasonOf);
  for (const [reason, members] of groups) log(`${title}: ${members.length} (${reason})`);
}
