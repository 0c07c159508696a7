/** Plans as data: phases of steps, what starts them, and what they do. */
import type { JsonValue } from "@keelson/core";
import { webhookSchema } from "@keelson/hooks/internal";
import { preserveUnknown } from "@keelson/schema";
import { z } from "zod";

const object = preserveUnknown().describe(
  "An object, whose texts may hold expressions of CEL between dollar-brace and brace.",
);
const reference = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string() });

const stepSchema = z
  .object({
    name: z.string().min(1).max(63),
    when: z.string().optional().describe("Skips the step unless this expression is true."),
    timeout: z.string().optional().describe("The plan fails when the step takes longer. Default: 10m."),
    apply: z.array(object).optional().describe("Applies objects, and waits until they are ready."),
    delete: z
      .array(reference)
      .optional()
      .describe("Deletes objects that the plans made, and waits until they are gone."),
    wait: z
      .object({
        duration: z.string().optional().describe("Waits this long."),
        object: reference.optional().describe("Waits for an object."),
        until: z.string().optional().describe("What must hold of it, as object. Default: that it is ready."),
      })
      .optional(),
    job: object.optional().describe("Runs a Job and waits for it to complete: its metadata and spec."),
    hook: webhookSchema.optional().describe("Calls a hook until it says that it is done."),
    toggle: z
      .object({ when: z.string(), apply: z.array(object) })
      .optional()
      .describe("Applies objects while an expression is true, and deletes them otherwise."),
  })
  .describe("Does one of apply, delete, wait, job, hook and toggle.");

const strategy = z.enum(["serial", "parallel"]).optional().describe("Default: serial.");

/** A plan as it stands in a definition. */
export const planSchema = z.object({
  on: z
    .object({
      create: z.boolean().optional().describe("Runs first of all. Default: true for the plan named deploy."),
      parameters: z
        .array(z.string())
        .optional()
        .describe("Runs when one of these changed; * stands for any."),
      schedule: z.string().optional().describe("Runs at these times, as cron says them."),
      timeZone: z.string().optional(),
      delete: z.boolean().optional().describe("Runs before the object goes."),
    })
    .optional()
    .describe("What starts it. Any plan can be started by hand."),
  strategy,
  phases: z
    .array(z.object({ name: z.string().min(1).max(63), strategy, steps: z.array(stepSchema).min(1) }))
    .min(1),
  onFailure: z.string().optional().describe("The plan that runs when this one failed."),
});

type GivenPlan = z.output<typeof planSchema>;
type GivenPhase = GivenPlan["phases"][number];
type GivenStep = GivenPhase["steps"][number];

/** What a function of a step answers. Nothing means that it is done. */
export interface CallAnswer {
  /** Default: true. A call that is not done is made again, with the same key. */
  readonly done?: boolean;
  /** Why it is not done, or what it did. */
  readonly message?: string;
  /** Later steps find it as `results["phase/step"]`. At most a thousand characters. */
  readonly result?: JsonValue;
  /** The plan fails, with the message. */
  readonly failed?: boolean;
  /** When to call again. Default: 5. */
  readonly retryAfterSeconds?: number;
}

/** What a function of a step is handed. */
export interface CallAttempt {
  /** The same on every attempt of this step of this run. */
  readonly idempotencyKey: string;
  /** An earlier attempt began and its end is unknown. */
  readonly resumed: boolean;
  readonly signal: AbortSignal;
}

/** One step. Does exactly one thing. */
export interface Step extends Partial<Omit<GivenStep, "name">> {
  readonly name: string;
  /** A function of the operator's own. */
  readonly call?: (attempt: CallAttempt) => Promise<CallAnswer | undefined>;
}

/** Steps that belong together. */
export interface Phase {
  readonly name: string;
  readonly strategy?: "serial" | "parallel" | undefined;
  readonly steps: readonly Step[];
}

/** Phases, and what starts them. */
export interface Plan extends Partial<Omit<GivenPlan, "phases">> {
  readonly phases: readonly Phase[];
}

/** Plans by name. */
export type Plans = Readonly<Record<string, Plan>>;

export type Reference = { readonly apiVersion: string; readonly kind: string; readonly name: string };
