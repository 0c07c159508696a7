/** What of a generated scenario can be played on real processes, in a time that one can wait for. */
import { type Disturbance, disturbancesOf, type Plan, type Step } from "@keelson/testing";
import type { Mechanisms } from "./mechanism.ts";
import type { AnySubject } from "./real-subject.ts";

/** All steps of a scenario begin within this time, in both worlds. */
const withinMs = 12_000;
/** The longest that something lasts. */
const lastsMs = 12_000;

/** The scenario with those steps that have a mechanism, compressed; undefined when none is left. */
export function realPlan(subject: AnySubject, plan: Plan, mechanisms: Mechanisms): Plan | undefined {
  const known = new Map(disturbancesOf(subject).map((each: Disturbance) => [each.name, each]));
  const steps = plan.steps.filter((step) => isReal(step, plan, mechanisms, known.get(step.do)));
  if (steps.length === 0) return undefined;
  const spanMs = Math.max(...steps.map(({ atMs }) => atMs));
  const scale = Math.min(1, withinMs / Math.max(1, spanMs));
  return {
    beginning: plan.beginning,
    seed: plan.seed,
    steps: steps.map(({ atMs, forMs, ...step }) => ({
      ...step,
      atMs: Math.round(atMs * scale),
      ...(forMs === undefined ? {} : { forMs: Math.min(forMs, lastsMs) }),
    })),
  };
}

function isReal(
  step: Step,
  { beginning }: Plan,
  mechanisms: Mechanisms,
  disturbance: Disturbance | undefined,
): boolean {
  const mechanism = mechanisms[step.do];
  if (!mechanism?.begin && disturbance?.anywhere !== true) return false;
  return mechanism?.can?.(step.with ?? {}, beginning) ?? true;
}
