/** Makes a failing scenario as small as it can be: what is left is needed for the failure. */
import type { Plan, Step } from "./plan.ts";

/** Whether a plan still fails in the same way. */
export type StillFails = (plan: Plan) => Promise<boolean>;

export interface Shrunk {
  readonly plan: Plan;
  readonly runs: number;
}

export async function shrink(failing: Plan, stillFails: StillFails, mostRuns = 150): Promise<Shrunk> {
  let plan = failing;
  let runs = 0;
  const tryOut = async (candidate: Plan): Promise<boolean> => {
    if (runs >= mostRuns) return false;
    runs++;
    if (!(await stillFails(candidate))) return false;
    plan = candidate;
    return true;
  };
  if (plan.managers !== undefined) {
    const { managers: _, ...single } = plan;
    await tryOut(single);
  }
  if (plan.lease !== undefined) {
    const { lease: _, ...free } = plan;
    await tryOut(free);
  }
  await dropSteps(() => plan, tryOut);
  for (let changed = true; changed && runs < mostRuns; ) {
    changed = false;
    for (let i = 0; i < plan.steps.length; i++)
      for (const simpler of simplerSteps(plan.steps[i] as Step, plan.steps[i - 1])) {
        if (await tryOut(withStep(plan, i, simpler))) changed = true;
      }
    if (changed) await dropSteps(() => plan, tryOut);
  }
  return { plan, runs };
}

/** Halves, then quarters, down to single steps. */
async function dropSteps(current: () => Plan, tryOut: StillFails): Promise<void> {
  for (
    let size = Math.ceil(current().steps.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < current().steps.length; ) {
      const { steps } = current();
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)];
      if (!(await tryOut({ ...current(), steps: fewer }))) at += size;
    }
  }
}

/** The same step, but earlier, shorter, or less often. */
function* simplerSteps(step: Step, before: Step | undefined): Generator<Step> {
  const earliest = before?.atMs ?? 0;
  if (step.atMs > earliest) yield { ...step, atMs: earliest };
  if (step.atMs - earliest > 2_000)
    yield { ...step, atMs: Math.round((step.atMs + earliest) / 2_000) * 1_000 };
  if (step.forMs !== undefined && step.forMs > 1_000)
    yield { ...step, forMs: Math.round(step.forMs / 200) * 100 };
  const { times } = step.with ?? {};
  if (typeof times === "number" && times > 1) yield { ...step, with: { ...step.with, times: 1 } };
}

function withStep(plan: Plan, at: number, step: Step): Plan {
  const steps = [...plan.steps];
  steps[at] = step;
  return { ...plan, steps: steps.sort((a, b) => a.atMs - b.atMs) };
}
