/** The Jobs of `job` steps: their names, which run they belong to, and which still run. Pure. */
import { type Condition, findCondition, type Stored } from "@keelson/core";
import type { Plan } from "../api/plan.ts";
import type { PlanRun } from "../api/status.ts";
import { digestOf } from "./trigger.ts";

/** On a Job: the run that it was made for. */
export const forRunAnnotation = "plans.keelson.dev/for-run";

const longestName = 63;

/** Where a Job is made. */
export interface JobPlace {
  readonly owner: string;
  readonly run: string;
  readonly plan: Plan;
  readonly phase: string;
  readonly step: string;
}

/** Follows from the run and the step: made twice, it is made once. No two steps of a run have the same. */
export function jobNameOf({ owner, run, plan, phase, step }: JobPlace): string {
  const plain = `${owner}-${run}-${step}`;
  const isShared = plan.phases.some(
    ({ name, steps }) => name !== phase && steps.some((each) => each.name === step),
  );
  const isValid = plain.length <= longestName && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(plain);
  if (isValid && !isShared) return plain;
  const digest = digestOf(owner, run, phase, step).slice(0, 10);
  const start = plain
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, longestName - digest.length - 1)
    .replace(/-+$/, "");
  return `${start}-${digest}`;
}

/** Names one run of one object: numbers begin again when a status is lost or an object is made again. */
export function runMark({ metadata }: Stored, { run, startedAt }: PlanRun): string {
  return `${metadata.uid}/${run}/${startedAt}`;
}

/** The run that a Job was made for; undefined for a Job of others, or of an earlier release. */
export function markOf({ metadata }: Stored): string | undefined {
  return metadata.annotations?.[forRunAnnotation];
}

/** Whether its pods may still do something. */
export function isUnfinished(job: Stored): boolean {
  const { conditions } = (job as { status?: { conditions?: Condition[] } }).status ?? {};
  return ["Complete", "Failed"].every((type) => findCondition(conditions, type)?.status !== "True");
}
