/** Which plan starts now, and why. Pure. */
import { createHash } from "node:crypto";
import { canonicalJson, deepEqual, type JsonObject, parseJson } from "@keelson/core";
import type { Plan, Plans } from "../api/plan.ts";
import type { PlanRun, PlanStatus } from "../api/status.ts";

/** What is looked at. */
export interface TriggerView {
  readonly plans: Plans;
  readonly parameters: JsonObject;
  readonly status: PlanStatus;
  /** The wish by hand: a plan, or a plan and anything behind a slash. */
  readonly requested: string | undefined;
  /** The run to cancel; `*` stands for any. */
  readonly cancelled: string | undefined;
  /** Plans whose schedule is due. */
  readonly due: ReadonlyMap<string, Date>;
}

/** What to do. */
export type Trigger =
  | { readonly do: "start"; readonly plan: string; readonly cause: string; readonly supersedes?: boolean }
  | { readonly do: "continue" }
  | { readonly do: "cancel" }
  | { readonly do: "refuse"; readonly message: string }
  | { readonly do: "rest" };

/** The plan that brings a new object to its first state. */
export function createPlanOf(plans: Plans): string | undefined {
  const names = Object.keys(plans);
  return (
    names.find((name) => plans[name]?.on?.create) ??
    names.find((name) => name === "deploy") ??
    names.find((name) => plans[name]?.on === undefined)
  );
}

/** Whether a run of this plan brings the parameters. */
export function brings(plans: Plans, name: string): boolean {
  return name === createPlanOf(plans) || (plans[name]?.on?.parameters?.length ?? 0) > 0;
}

/** Equal for equal plans; functions are no part of it. */
export function digestOf(...values: unknown[]): string {
  return createHash("sha256")
    .update(canonicalJson(plain(values)))
    .digest("hex")
    .slice(0, 16);
}

function plain(value: unknown): JsonObject {
  return parseJson(JSON.stringify(value)) as JsonObject;
}

export function decideTrigger(view: TriggerView): Trigger {
  const { plans, status, requested, cancelled } = view;
  const { plan: run } = status;
  const isRunning = run?.state === "Running";
  if (run && isRunning) {
    if (cancelled !== undefined && (cancelled === "*" || cancelled === run.run)) return { do: "cancel" };
    // What was started by hand or by schedule ends first; it cannot take longer than its steps may.
    if (!isBringing(view, run) || deepEqual(run.parameters as JsonObject, view.parameters))
      return { do: "continue" };
    const next = changedPlan(view);
    return next ? { ...next, supersedes: true } : { do: "continue" };
  }
  // What runs because another failed starts no third: two plans could call each other without end.
  const mayFollow = run?.state === "Failed" && !run.cause.endsWith(" failed");
  const failure = mayFollow ? plans[run.name]?.onFailure : undefined;
  if (run && failure !== undefined && failure in plans) {
    return { do: "start", plan: failure, cause: `${run.run} failed` };
  }
  const changed = changedPlan(view);
  const next = changed && status.tried !== triedDigest(view, changed.plan) ? changed : undefined;
  if (requested !== undefined && requested !== status.requested) {
    const [name = ""] = requested.split("/");
    if (!(name in plans))
      return {
        do: "refuse",
        message: `there is no plan ${JSON.stringify(name)}; there are ${Object.keys(plans).join(", ")}`,
      };
    // No other plan makes what the first one makes, whose record may also be lost.
    return next && !status.applied && name !== next.plan
      ? next
      : { do: "start", plan: name, cause: "by hand" };
  }
  if (next) return next;
  for (const [name] of view.due) {
    if (status.applied) return { do: "start", plan: name, cause: "by schedule" };
  }
  return { do: "rest" };
}

function isBringing({ plans }: TriggerView, run: PlanRun): boolean {
  return brings(plans, run.name) && run.cause !== "by hand";
}

/** What failed once is not tried again until the parameters or the plan change. */
export function triedDigest(
  { plans, parameters }: Pick<TriggerView, "plans" | "parameters">,
  plan: string,
): string {
  return digestOf(plan, plans[plan], parameters);
}

/** The plan that brings what changed; undefined when nothing did. */
function changedPlan(view: TriggerView): (Trigger & { do: "start" }) | undefined {
  const { plans, parameters, status } = view;
  const create = createPlanOf(plans);
  const { applied } = status;
  if (!applied) return create === undefined ? undefined : { do: "start", plan: create, cause: "created" };
  const before = applied.parameters as JsonObject;
  const changed = [...new Set([...Object.keys(before), ...Object.keys(parameters)])]
    .filter((key) => !deepEqual(before[key] as never, parameters[key] as never))
    .sort();
  if (changed.length > 0) {
    const named = (plan: Plan) => plan.on?.parameters?.some((each) => changed.includes(each)) ?? false;
    const any = (plan: Plan) => plan.on?.parameters?.includes("*") ?? false;
    const entries = Object.entries(plans);
    const found =
      entries.find(([, plan]) => named(plan))?.[0] ?? entries.find(([, plan]) => any(plan))?.[0] ?? create;
    return found === undefined
      ? undefined
      : { do: "start", plan: found, cause: `${changed.join(", ")} changed` };
  }
  if (create !== undefined && applied.digest !== digestOf(plans[create])) {
    return { do: "start", plan: create, cause: `plan ${create} changed` };
  }
  return undefined;
}
