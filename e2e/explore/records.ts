/** What was compared, kept in `e2e/explore/results`: each scenario whole, so that it can be played again. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseJson } from "@keelson/core";
import type { Plan } from "@keelson/testing";

/** A failure of a scenario that was played again since. */
interface EarlierFailure {
  readonly commit: string;
  readonly problems: readonly string[];
}

/** One scenario in both worlds. */
export interface Compared {
  /** Of the code that was played. */
  readonly commit: string;
  /** The scenario as it was played, whatever its seed gives today. */
  readonly plan: Plan;
  /** Time from the last disturbance until the spec was reached. */
  readonly simulatedMs: number;
  readonly realMs: number | undefined;
  readonly longestGapMs: number;
  readonly acknowledged: number;
  /** What was different, or wrong; empty when the results are the same. */
  readonly problems: readonly string[];
  /** The oldest first. */
  readonly failedBefore?: readonly EarlierFailure[];
}

const failed = ({ problems }: Compared) => problems.length > 0;

/**
 * The records with one more result. A scenario that failed stays failed until it passes on another commit, and keeps a note
 * of the failure then. One that passed gives way to another scenario of its seed; one that failed does not.
 */
export function withResult(records: readonly Compared[], result: Compared): readonly Compared[] {
  const { plan } = result;
  const before = records.find((each) => isDeepStrictEqual(each.plan, plan));
  const others = records.filter((each) => each !== before && (each.plan.seed !== plan.seed || failed(each)));
  return [...others, before ? after(before, result) : result].sort((a, b) => a.plan.seed - b.plan.seed);
}

function after(before: Compared, result: Compared): Compared {
  // What passes and fails on the same code is not corrected.
  if (failed(before) && !failed(result) && before.commit === result.commit) return before;
  const { commit, problems } = before;
  const notes = [...(before.failedBefore ?? []), ...(failed(before) ? [{ commit, problems }] : [])];
  return notes.length === 0 ? result : { ...result, failedBefore: notes };
}

function fileOf(name: string): string {
  return join(import.meta.dirname, "results", `${name}.recorded.json`);
}

/** All that was compared so far, by seed. */
export function comparedBefore(name: string): readonly Compared[] {
  try {
    return parseJson(readFileSync(fileOf(name), "utf8")) as unknown as Compared[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

export function keep(name: string, result: Compared): void {
  const all = withResult(comparedBefore(name), result);
  writeFileSync(fileOf(name), `${JSON.stringify(all, undefined, 1)}\n`);
}

/** A line for all that was compared, and one for each failure that stands or is remembered. */
export function summary(compared: readonly Compared[]): string {
  const same = compared.filter((each) => !failed(each));
  const steps = compared.flatMap(({ plan }) => plan.steps);
  const writes = compared.reduce((sum, each) => sum + each.acknowledged, 0);
  const kinds = new Set(steps.map((step) => step.do)).size;
  const slowest = Math.max(0, ...compared.map(({ realMs }) => realMs ?? 0));
  const commits = [...new Set(compared.map(({ commit }) => commit))].join(", ");
  return [
    `${same.length} of ${compared.length} scenarios with the same result in both worlds: ${steps.length} faults and edits of ${kinds} kinds, ${writes} acknowledged writes, slowest ${(slowest / 1_000).toFixed(1)} s, on ${commits}`,
    ...compared.flatMap(failuresOf),
  ].join("\n");
}

function failuresOf({ plan, commit, problems, failedBefore = [] }: Compared): string[] {
  const now = problems.length === 0 ? `passes on ${commit}` : `fails on ${commit} (${problems.join("; ")})`;
  const earlier = failedBefore.map((each) => `failed on ${each.commit} (${each.problems.join("; ")})`);
  return problems.length + earlier.length === 0 ? [] : [`seed ${plan.seed} ${[...earlier, now].join(", ")}`];
}
