/** What a status says of plans: the run under way, those before it, and what was brought. */
import { preserveUnknown } from "@keelson/schema";
import { z } from "zod";

/** How a run stands. */
export const runStates = ["Running", "Succeeded", "Failed", "Cancelled", "Superseded"] as const;
/** How a run stands. */
export type RunState = (typeof runStates)[number];

const stepRecord = z.object({
  name: z.string().describe("phase/step"),
  state: z.enum(["Running", "Succeeded", "Failed", "Skipped"]),
  startedAt: z.string(),
  finishedAt: z.string().optional(),
  message: z.string().optional(),
  result: z.string().optional().describe("What a hook or function answered, as JSON."),
});

/** The part of a status that plans need: spread it into the status of a resource. */
export const planStatus = {
  plan: z
    .object({
      run: z.string().describe("The plan and a number, such as upgrade-3."),
      name: z.string(),
      state: z.enum(runStates),
      cause: z.string(),
      progress: z.string().describe("Steps that are done, of all."),
      step: z.string().optional().describe("Where it is, as phase/step."),
      message: z.string().optional(),
      startedAt: z.string(),
      finishedAt: z.string().optional(),
      parameters: preserveUnknown().describe("What it works with."),
      steps: z.array(stepRecord),
    })
    .optional()
    .describe("The last run."),
  history: z
    .array(
      z.object({
        run: z.string(),
        state: z.enum(runStates),
        cause: z.string(),
        startedAt: z.string(),
        finishedAt: z.string(),
        message: z.string().optional(),
      }),
    )
    .optional()
    .describe("Runs that ended, the newest first; at most ten."),
  runs: z.int().optional().describe("How many runs there were."),
  applied: z
    .object({ parameters: preserveUnknown(), digest: z.string() })
    .optional()
    .describe("What the last run brought that succeeded."),
  tried: z.string().optional().describe("What failed or was cancelled: it is not tried again by itself."),
  requested: z.string().optional().describe("The last wish by hand that was looked at."),
  scheduled: z
    .record(z.string(), z.string())
    .optional()
    .describe("When each plan with a schedule was last due."),
  objects: z
    .array(
      z.object({ slot: z.string(), key: z.string(), plan: z.string(), phase: z.string(), step: z.string() }),
    )
    .optional()
    .describe("What steps applied, by the step that did so last."),
};

const whole = z.object(planStatus);
/** The part of a status that plans keep. */
export type PlanStatus = z.output<typeof whole>;
export type PlanRun = NonNullable<PlanStatus["plan"]>;
export type StepState = PlanRun["steps"][number];

/** Columns of `kubectl get` that show how plans stand. */
export const planColumns = {
  Plan: ".status.plan.run",
  State: ".status.plan.state",
  Progress: ".status.plan.progress",
  Step: ".status.plan.step",
} as const;
