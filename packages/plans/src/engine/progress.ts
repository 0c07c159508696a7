/** The record of a run: it begins, its steps move on, it ends. Pure. */
import { formatTime, type JsonObject } from "@keelson/core";
import type { Plan } from "../api/plan.ts";
import type { PlanRun, PlanStatus, RunState, StepState } from "../api/status.ts";

const mostHistory = 10;
const longestMessage = 1_000;

export function beginRun(
  status: PlanStatus,
  options: {
    readonly plan: string;
    readonly cause: string;
    readonly parameters: JsonObject;
    readonly total: number;
  },
  nowMs: number,
): PlanStatus {
  const number = (status.runs ?? 0) + 1;
  const { plan, cause, parameters, total } = options;
  return {
    ...status,
    runs: number,
    plan: {
      run: `${plan}-${number}`,
      name: plan,
      state: "Running",
      cause,
      progress: `0/${total}`,
      startedAt: formatTime(nowMs),
      parameters,
      steps: [],
    },
  };
}

/** Ends the run, and puts it into the history. */
export function endRun(
  status: PlanStatus,
  state: RunState,
  message: string | undefined,
  nowMs: number,
): PlanStatus {
  const run = status.plan as PlanRun;
  const finishedAt = formatTime(nowMs);
  const told = message === undefined ? {} : { message: shortened(message) };
  const { message: _, step, ...rest } = run;
  const ended: PlanRun = {
    ...rest,
    // Where it failed is worth knowing; where it succeeded is everywhere.
    ...(state === "Succeeded" || step === undefined ? {} : { step }),
    state,
    finishedAt,
    ...told,
  };
  const { cause, startedAt } = run;
  const history = [{ run: run.run, state, cause, startedAt, finishedAt, ...told }, ...(status.history ?? [])];
  return { ...status, plan: ended, history: history.slice(0, mostHistory) };
}

export function stepOf(run: PlanRun, name: string): StepState | undefined {
  return run.steps.find((each) => each.name === name);
}

export function isOver(step: StepState | undefined): boolean {
  return step !== undefined && step.state !== "Running";
}

/** The run with a step's record replaced, and its progress counted again. */
export function withStep(run: PlanRun, record: StepState, plan: Plan): PlanRun {
  const given: StepState =
    record.message === undefined ? record : { ...record, message: shortened(record.message) };
  const steps = run.steps.some(({ name }) => name === record.name)
    ? run.steps.map((each) => (each.name === record.name ? given : each))
    : [...run.steps, given];
  const names = new Set(stepNames(plan));
  const over = steps.filter(
    ({ name, state }) => names.has(name) && (state === "Succeeded" || state === "Skipped"),
  );
  const current = steps.find(
    ({ name, state }) => names.has(name) && (state === "Running" || state === "Failed"),
  );
  const { step: _, message: __, ...rest } = run;
  return {
    ...rest,
    steps,
    progress: `${over.length}/${names.size}`,
    ...(current ? { step: current.name } : {}),
    ...(current?.message === undefined ? {} : { message: current.message }),
  };
}

export function stepNames({ phases }: Plan): string[] {
  return phases.flatMap((phase) => phase.steps.map((step) => `${phase.name}/${step.name}`));
}

export function shortened(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage - 1)}…` : text;
}
