/** Refuses plans that could never run, before any does. */
import { type JsonValue, parseDuration } from "@keelson/core";
import type { Plan, Plans, Step } from "../api/plan.ts";
import { PlanError } from "../errors.ts";
import { checkExpression } from "../template/expression.ts";
import { checkTemplate } from "../template/render.ts";

const actions = ["apply", "delete", "wait", "job", "hook", "toggle", "call"] as const;

/** Throws for the first mistake. `what` names the plans: `PlanDefinition shop`. */
export function checkPlans(plans: Plans, what: string): void {
  if (Object.keys(plans).length === 0) throw new PlanError("InvalidDefinition", `${what} has no plans`);
  for (const [name, plan] of Object.entries(plans)) {
    const place = `plan ${name} of ${what}`;
    if (plan.onFailure !== undefined && !(plan.onFailure in plans)) {
      throw new PlanError(
        "InvalidDefinition",
        `${place} names ${plan.onFailure} as onFailure, which is no plan`,
      );
    }
    if (plan.onFailure === name) {
      throw new PlanError("InvalidDefinition", `${place} would run itself when it fails`);
    }
    checkPhases(plan, place);
  }
}

function checkPhases({ phases }: Plan, place: string): void {
  const seen = new Set<string>();
  for (const phase of phases) {
    for (const step of phase.steps) {
      const id = `${phase.name}/${step.name}`;
      if (seen.has(id)) throw new PlanError("InvalidDefinition", `${place} has two steps ${id}`);
      seen.add(id);
      checkStep(step, `step ${id} of ${place}`);
    }
  }
}

function checkStep(step: Step, place: string): void {
  const given = actions.filter((action) => step[action] !== undefined);
  if (given.length !== 1) {
    const found = given.length === 0 ? "none of them" : given.join(" and ");
    throw new PlanError(
      "InvalidDefinition",
      `${place} must do one of ${actions.slice(0, -1).join(", ")}; it has ${found}`,
    );
  }
  for (const duration of [step.timeout, step.wait?.duration]) {
    if (duration === undefined || duration.includes("${")) continue;
    try {
      parseDuration(duration);
    } catch (cause) {
      throw new PlanError("InvalidDefinition", `${place}: ${(cause as Error).message}`, { cause });
    }
  }
  if (step.wait && step.wait.duration === undefined && step.wait.object === undefined) {
    throw new PlanError("InvalidDefinition", `${place} waits for nothing; give it a duration or an object`);
  }
  try {
    for (const expression of [step.when, step.wait?.until, step.toggle?.when]) {
      if (expression !== undefined)
        checkExpression(/^\s*\$\{([\s\S]*)\}\s*$/.exec(expression)?.[1] ?? expression);
    }
    const { call: _, ...template } = step;
    checkTemplate(template as unknown as JsonValue);
  } catch (cause) {
    throw new PlanError("InvalidDefinition", `${place}: ${(cause as Error).message}`, { cause });
  }
}
