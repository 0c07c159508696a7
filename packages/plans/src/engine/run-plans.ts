/** Runs the plans of one object: decides what starts, moves the run on, and says how the object stands. */
import { isConflict } from "@keelson/client";
import {
  apiVersionOf,
  formatTime,
  type JsonObject,
  type JsonValue,
  parseDuration,
  parseJson,
  parseTime,
  type Stored,
} from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { type Context, done, fail, type Outcome, RuntimeError, waiting } from "@keelson/runtime";
import type { Phase, Plan, Plans, Step } from "../api/plan.ts";
import type { PlanRun, PlanStatus, StepState } from "../api/status.ts";
import { PlanError } from "../errors.ts";
import { isTrue, type TemplateValues } from "../template/expression.ts";
import { render } from "../template/render.ts";
import { beginRun, endRun, isOver, shortened, stepNames, stepOf, withStep } from "./progress.ts";
import { keyOfName, type Slots } from "./slots.ts";
import { type AppliedObject, applyOne, lookAt, type StepOutcome, type StepWorld } from "./step-actions.ts";
import { isUnfinished, jobNameOf, markOf, runMark } from "./step-jobs.ts";
import { brings, createPlanOf, decideTrigger, digestOf, triedDigest } from "./trigger.ts";

/** Put on the object: starts this plan. A plan, or a plan and anything behind a slash, to start it once more. */
export const runAnnotation = "plans.keelson.dev/run";
/** Put on the object: cancels this run, or any with `*` but for the one before the object goes. */
export const cancelAnnotation = "plans.keelson.dev/cancel";

const defaultTimeoutMs = 600_000;
const retryMs = 5_000;
const longestResult = 1_000;

/** What plans work on. */
export interface PlanWorld {
  readonly ctx: Context;
  readonly object: Stored;
  readonly plans: Plans;
  readonly slots: Slots;
}

/** Runs what is due. */
export async function runPlans(world: PlanWorld): Promise<Outcome> {
  const engine = new Engine(world);
  return await engine.reconcile();
}

/** Runs the plan that comes before the object goes. `done` lets it go. */
export async function runLast(world: PlanWorld, plan: string): Promise<Outcome> {
  const engine = new Engine(world);
  return await engine.finalize(plan);
}

class Engine {
  readonly #world: PlanWorld;
  readonly #parameters: JsonObject;
  #status: PlanStatus;

  constructor(world: PlanWorld) {
    this.#world = world;
    const { spec, status } = world.object as { spec?: JsonObject; status?: PlanStatus };
    this.#parameters = spec ?? {};
    const { plan, history, runs, applied, tried, requested, scheduled, objects } =
      status ?? ({} as PlanStatus);
    this.#status = { plan, history, runs, applied, tried, requested, scheduled, objects };
    this.#save();
  }

  async reconcile(): Promise<Outcome> {
    const { plans, object, ctx } = this.#world;
    const { annotations } = object.metadata;
    // A run may end and another begin at once: after a failure, or when a wish waited.
    for (let turn = 0; turn < 3; turn++) {
      const trigger = decideTrigger({
        plans,
        parameters: this.#parameters,
        status: this.#status,
        requested: annotations?.[runAnnotation],
        cancelled: annotations?.[cancelAnnotation],
        due: this.#due(),
      });
      if (trigger.do === "rest") break;
      if (trigger.do === "refuse") {
        this.#set({ ...this.#status, requested: annotations?.[runAnnotation] });
        ctx.event("Warning", "NoSuchPlan", trigger.message);
        continue;
      }
      if (trigger.do === "cancel") {
        this.#end("Cancelled", "a person cancelled it");
        continue;
      }
      if (trigger.do === "start") this.#begin(trigger.plan, trigger.cause, trigger.supersedes ?? false);
      await this.#advance();
      if (this.#status.plan?.state === "Running") break;
    }
    if (this.#status.plan?.state !== "Running") await this.#stopJobs(undefined);
    await this.#atRest();
    return this.#outcome();
  }

  async finalize(name: string): Promise<Outcome> {
    const { object, ctx } = this.#world;
    const { plan: run } = this.#status;
    const isLast = run?.name === name && run.cause === "deleted";
    const cancelled = object.metadata.annotations?.[cancelAnnotation];
    // By its name alone: a star that cancelled something long ago must not skip what comes before the end.
    if (isLast && cancelled === run.run) {
      ctx.event("Warning", "PlanCancelled", `${run.run} was cancelled; the object goes without it`);
      return done();
    }
    const requested = object.metadata.annotations?.[runAnnotation];
    const again = run?.state === "Failed" && requested !== undefined && requested !== this.#status.requested;
    if (!isLast || again) {
      if (run?.state === "Running") this.#end("Superseded", "the object is being deleted");
      this.#begin(name, "deleted", false);
    }
    if (this.#status.plan?.state === "Running") await this.#advance();
    const { state, run: id, message, step } = this.#status.plan as PlanRun;
    if (state === "Succeeded") return done();
    if (state === "Running") return waiting("PlanRunning", `${id} ${step ?? ""}: ${message ?? "runs"}`);
    return waiting(
      "PlanFailed",
      `${id} failed at ${step}: ${message}; annotate the object with ${runAnnotation}=${name}/again to run it again, or ` +
        `with ${cancelAnnotation}=${id} to let it go`,
    );
  }

  // ------------------------------------------------------------------------------------ a run

  #begin(plan: string, cause: string, supersedes: boolean): void {
    const { plans, ctx, object } = this.#world;
    if (supersedes) this.#end("Superseded", `${cause} meanwhile`);
    const parameters = this.#parameters;
    const total = stepNames(plans[plan] as Plan).length;
    let status = beginRun(this.#status, { plan, cause, parameters, total }, ctx.clock.now());
    if (cause === "by hand" || cause === "deleted") {
      status = { ...status, requested: object.metadata.annotations?.[runAnnotation] };
    }
    if (cause === "by schedule") {
      const at = this.#due().get(plan);
      if (at) status = { ...status, scheduled: { ...status.scheduled, [plan]: formatTime(at.getTime()) } };
    }
    this.#set(status);
    ctx.event("Normal", "PlanStarted", `${status.plan?.run} started: ${cause}`);
  }

  #end(state: "Succeeded" | "Failed" | "Cancelled" | "Superseded", message: string | undefined): void {
    const { ctx, plans } = this.#world;
    const run = this.#status.plan as PlanRun;
    let status = endRun(this.#status, state, message, ctx.clock.now());
    const isBringing = brings(plans, run.name);
    if (state === "Succeeded" && isBringing) {
      const create = createPlanOf(plans);
      const digest = create === undefined ? "" : digestOf(plans[create]);
      status = { ...status, applied: { parameters: run.parameters, digest }, tried: "" };
    }
    if ((state === "Failed" || state === "Cancelled") && isBringing) {
      status = {
        ...status,
        tried: triedDigest({ plans, parameters: run.parameters as JsonObject }, run.name),
      };
    }
    this.#set(status);
    const type = state === "Succeeded" ? "Normal" : "Warning";
    ctx.event(type, `Plan${state}`, `${run.run}: ${message ?? state.toLowerCase()}`);
  }

  /** Moves the run on as far as it goes now. */
  async #advance(): Promise<void> {
    const plan = this.#world.plans[(this.#status.plan as PlanRun).name];
    if (!plan) return this.#end("Failed", "the plan does not exist any more");
    const [left] = await this.#stopJobs(runMark(this.#world.object, this.#run));
    if (left !== undefined) {
      const message = `Job ${left} of an earlier run ends first`;
      this.#world.ctx.recheck(retryMs);
      return this.#set({ ...this.#status, plan: { ...this.#run, message } });
    }
    const ended = await this.#phases(plan);
    if (ended === "open") return;
    if (ended !== undefined) return this.#end("Failed", ended);
    await this.#prune();
    this.#end("Succeeded", undefined);
  }

  /** Undefined when all is done, `open` when something waits, otherwise why it failed. */
  async #phases(plan: Plan): Promise<string | undefined> {
    let open = false;
    for (const phase of plan.phases) {
      const ended = await this.#steps(plan, phase);
      if (ended !== undefined && ended !== "open") return ended;
      if (ended === "open") open = true;
      if (open && plan.strategy !== "parallel") return "open";
    }
    return open ? "open" : undefined;
  }

  async #steps(plan: Plan, phase: Phase): Promise<string | undefined> {
    let open = false;
    for (const step of phase.steps) {
      const name = `${phase.name}/${step.name}`;
      if (isOver(stepOf(this.#run, name))) continue;
      const outcome = await this.#step(plan, phase, step);
      if (outcome.is === "failed") return `${name}: ${outcome.message}`;
      if (outcome.is === "waiting") {
        open = true;
        this.#world.ctx.recheck(outcome.recheckMs ?? this.#leftMs(step, name));
        if (phase.strategy !== "parallel") return "open";
      }
    }
    return open ? "open" : undefined;
  }

  async #step(plan: Plan, phase: Phase, step: Step): Promise<StepOutcome> {
    const { ctx } = this.#world;
    const name = `${phase.name}/${step.name}`;
    const now = ctx.clock.now();
    const known = stepOf(this.#run, name)?.startedAt;
    // A clock that was set back would make waits longer by as much: the step's time begins again.
    const startedAt = known === undefined || parseTime(known) > now ? formatTime(now) : known;
    const record = (change: Partial<StepState>) => {
      const before = stepOf(this.#run, name) ?? { name, state: "Running", startedAt };
      this.#set({ ...this.#status, plan: withStep(this.#run, { ...before, ...change } as StepState, plan) });
    };
    record({ state: "Running", startedAt });
    const outcome = await this.#look(plan, phase, step, startedAt);
    const finishedAt = formatTime(ctx.clock.now());
    const { message } = outcome;
    const told = message === undefined ? {} : { message };
    if (outcome.is === "waiting") {
      const isLate = this.#leftMs(step, name) <= 0;
      if (!isLate) {
        record({ state: "Running", ...told });
        return outcome;
      }
      const late = `took longer than ${step.timeout ?? "10m"}: ${outcome.message}`;
      record({ state: "Failed", finishedAt, message: late });
      return { is: "failed", message: late };
    }
    if (outcome.is === "failed") record({ state: "Failed", finishedAt, ...told });
    else {
      const text = outcome.result === undefined ? undefined : JSON.stringify(outcome.result);
      const result = text === undefined || text.length > longestResult ? {} : { result: text };
      const state = message === "skipped" ? "Skipped" : "Succeeded";
      record({ state, finishedAt, ...told, ...result });
    }
    return outcome;
  }

  /** An error that may pass is a wait; it has the time of its step. */
  async #look(plan: Plan, phase: Phase, step: Step, startedAt: string): Promise<StepOutcome> {
    const { ctx, slots, object } = this.#world;
    const place = { plan: this.#run.name, phase: phase.name, step: step.name };
    const values = this.#values();
    // What the step does is part of its name: a plan that is changed while it runs does what it says now.
    const { timeout: _, ...does } = step;
    const world: StepWorld = {
      ctx,
      slots,
      values,
      owner: object,
      job: {
        name: jobNameOf({
          owner: object.metadata.name,
          run: this.#run.run,
          plan,
          phase: phase.name,
          step: step.name,
        }),
        mark: runMark(object, this.#run),
      },
      id: `${this.#run.run}/${phase.name}/${step.name}@${digestOf(does)}`,
      startedAt,
      applied: (slot, key) => this.#note({ slot, key, ...place }),
      deleted: (slot, key) => this.#forget(slot, key),
    };
    try {
      if (step.when !== undefined && !isTrue(step.when, values)) return { is: "done", message: "skipped" };
      return await lookAt(step, world);
    } catch (error) {
      if (ctx.signal.aborted || isConflict(error) || isOurs(error)) throw error;
      const message = shortened(errorText(error));
      if (error instanceof PlanError || isHopeless(error)) return { is: "failed", message };
      return { is: "waiting", message, recheckMs: retryMs };
    }
  }

  #leftMs(step: Step, name: string): number {
    const started = stepOf(this.#run, name)?.startedAt;
    const ms = step.timeout === undefined ? defaultTimeoutMs : parseDuration(step.timeout);
    return started === undefined ? ms : parseTime(started) + ms - this.#world.ctx.clock.now();
  }

  #values(): TemplateValues {
    const { name, namespace = "" } = this.#world.object.metadata;
    const results = this.#run.steps.flatMap((step): [string, JsonValue][] =>
      step.result === undefined ? [] : [[step.name, parseJson(step.result)]],
    );
    return {
      parameters: this.#run.parameters as JsonObject,
      previous: (this.#status.applied?.parameters ?? {}) as JsonObject,
      name,
      namespace,
      run: this.#run.run,
      results: Object.fromEntries(results),
    };
  }

  // ------------------------------------------------------------------------------------ objects

  #note(applied: AppliedObject): void {
    const objects = this.#status.objects ?? [];
    const others = objects.filter(({ slot, key }) => slot !== applied.slot || key !== applied.key);
    this.#set({ ...this.#status, objects: [...others, applied] });
  }

  #forget(slot: string, key: string): void {
    const objects = (this.#status.objects ?? []).filter((each) => each.slot !== slot || each.key !== key);
    this.#set({ ...this.#status, objects });
  }

  /** What earlier runs of a plan applied and this one did not is not wanted any more. */
  async #prune(): Promise<void> {
    const { ctx, plans } = this.#world;
    const { name } = this.#run;
    const plan = plans[name] as Plan;
    const applied = new Set(stepNames(plan).filter((each) => stepOf(this.#run, each)?.state === "Succeeded"));
    for (const object of this.#status.objects ?? []) {
      if (object.plan !== name) continue;
      const wanted = applied.has(`${object.phase}/${object.step}`) && this.#rendered(object) !== undefined;
      if (wanted) continue;
      await (ctx.own as unknown as Record<string, { delete(key: string): Promise<void> }>)[
        object.slot
      ]?.delete(object.key);
      this.#forget(object.slot, object.key);
    }
  }

  /** The object as the step that applied it last says it; undefined when the step does so no more. */
  #rendered({ plan, phase, step, slot, key }: AppliedObject): JsonObject | undefined {
    const found = this.#world.plans[plan]?.phases
      .find(({ name }) => name === phase)
      ?.steps.find(({ name }) => name === step);
    const templates = (found?.apply ?? found?.toggle?.apply ?? []) as JsonObject[];
    for (const template of templates) {
      if (this.#slotOf(template) !== slot) continue;
      const object = render(template, this.#values());
      const name = (object["metadata"] as { name?: string } | undefined)?.name;
      if (name !== undefined && keyOfName(name) === key) return object;
    }
    return undefined;
  }

  #slotOf({ apiVersion, kind }: JsonObject): string | undefined {
    const { all } = this.#world.slots;
    return all.find((each) => apiVersionOf(each.kind) === apiVersion && each.kind.kind === kind)?.name;
  }

  /** At rest, what was brought is kept as it was brought. */
  async #atRest(): Promise<void> {
    const { plans, ctx, slots } = this.#world;
    const { applied, plan: run } = this.#status;
    if (!applied || !run || run.state === "Running" || run.state === "Failed") return;
    const create = createPlanOf(plans);
    if (create !== undefined && applied.digest !== digestOf(plans[create])) return;
    for (const object of this.#status.objects ?? []) {
      const desired = this.#rendered(object);
      if (desired) await applyOne(desired, { ctx, slots, applied: () => {} });
    }
    await this.#dropOldJobs();
  }

  /** The Jobs of the last run stay, for a look at their logs. */
  async #dropOldJobs(): Promise<void> {
    const jobs = this.#jobs;
    const prefix = `${this.#world.object.metadata.name}-${this.#run.run}-`;
    const applied = new Set((this.#status.objects ?? []).map(({ slot, key }) => `${slot} ${key}`));
    const current = runMark(this.#world.object, this.#run);
    for (const [key, job] of jobs?.entries() ?? []) {
      const mark = markOf(job);
      const isLast = mark === undefined ? job.metadata.name.startsWith(prefix) : mark === current;
      const isKept = isLast || applied.has(`job.batch ${key}`);
      if (!isKept && job.metadata.deletionTimestamp === undefined) await jobs?.delete(key);
    }
  }

  /**
   * Ends the Jobs of steps that run for no run, or for another than `current`: a run that was superseded, was cancelled or
   * took too long leaves them behind, and two of them at once may do harm. Gives the names of those that are still there.
   */
  async #stopJobs(current: string | undefined): Promise<string[]> {
    const left: string[] = [];
    for (const [key, job] of this.#jobs?.entries() ?? []) {
      const mark = markOf(job);
      if (mark === undefined || mark === current || !isUnfinished(job)) continue;
      left.push(job.metadata.name);
      // It stays until its pods are gone.
      if (job.metadata.deletionTimestamp === undefined)
        await this.#jobs?.delete(key, { propagation: "Foreground" });
    }
    return left;
  }

  get #jobs(): JobHandle | undefined {
    return (this.#world.ctx.own as unknown as Record<string, JobHandle | undefined>)["job.batch"];
  }

  // ------------------------------------------------------------------------------------ its state

  get #run(): PlanRun {
    return this.#status.plan as PlanRun;
  }

  /** Plans whose schedule is due, with the time that it was. */
  #due(): Map<string, Date> {
    const { plans, ctx, object } = this.#world;
    const due = new Map<string, Date>();
    for (const [name, { on }] of Object.entries(plans)) {
      if (on?.schedule === undefined) continue;
      const since = new Date(parseTime(this.#status.scheduled?.[name] ?? object.metadata.creationTimestamp));
      const options = on.timeZone === undefined ? { since } : { since, timeZone: on.timeZone };
      const { due: at } = ctx.cron(on.schedule, options);
      if (at) due.set(name, at);
    }
    return due;
  }

  #set(status: PlanStatus): void {
    this.#status = status;
    this.#save();
  }

  #save(): void {
    const known = Object.entries(this.#status).filter(([, value]) => value !== undefined);
    // A field that is left out goes: the status is told as a whole.
    this.#world.ctx.setStatus(Object.fromEntries(known) as never);
  }

  #outcome(): Outcome {
    const { plans } = this.#world;
    const { plan: run, applied } = this.#status;
    if (!run)
      return waiting(
        "NoPlan",
        "no plan is for a new object; name one deploy, or give one on.create in its spec",
      );
    this.#tell(run);
    if (run.state === "Running") {
      return waiting(
        "PlanRunning",
        `${run.run} at ${run.step ?? "its beginning"} (${run.progress}): ${run.message ?? run.cause}`,
      );
    }
    const isBrought = applied !== undefined && digestOf(applied.parameters) === digestOf(this.#parameters);
    if (isBrought) return done({ message: `${run.run} ${run.state.toLowerCase()}` });
    const failed = brings(plans, run.name)
      ? run
      : this.#status.history?.find(({ state }) => state === "Failed");
    const what = failed
      ? `${failed.run} ${failed.state.toLowerCase()}: ${failed.message ?? ""}`
      : "the spec is not brought";
    return fail(
      run.state === "Cancelled" ? "PlanCancelled" : "PlanFailed",
      `${what}${run === failed ? "" : `; ${run.run} ${run.state.toLowerCase()}`}; change the spec, or annotate the object ` +
        `with ${runAnnotation}=<plan>/again to run a plan again`,
    );
  }

  #tell({ run, state, message }: PlanRun): void {
    const status = state === "Succeeded" ? "True" : state === "Running" ? "Unknown" : "False";
    this.#world.ctx.setCondition({
      type: "PlanSucceeded",
      status,
      reason: state,
      message: state === "Running" ? `${run} is running` : `${run}: ${message ?? state.toLowerCase()}`,
    });
  }
}

interface JobHandle {
  entries(): ReadonlyMap<string, Stored>;
  delete(key: string, options?: object): Promise<void>;
}

/** Errors by which the runtime ends a reconcile: they are not the step's. */
function isOurs(error: unknown): boolean {
  return (
    error instanceof RuntimeError &&
    [
      "Ended",
      "LeaseLost",
      "Stopped",
      "OwnerGone",
      "ReconcileTimeout",
      "InvalidStatus",
      "OutcomeUnknown",
    ].includes(error.code)
  );
}

/** What no waiting resolves. */
function isHopeless(error: unknown): boolean {
  return (
    error instanceof RuntimeError &&
    ["InvalidChild", "NotOurs", "NotDeclared", "StepTooLarge"].includes(error.code)
  );
}
