/** What each kind of step does, and when it is done. */
import { isNotFound } from "@keelson/client";
import {
  type AnyKind,
  type Condition,
  findCondition,
  groupKind,
  type JsonObject,
  type JsonValue,
  parseDuration,
  parseTime,
  type Stored,
} from "@keelson/core";
import { HookClient } from "@keelson/hooks/internal";
import type { Context, ManyHandle } from "@keelson/runtime";
import { readinessOf } from "@keelson/runtime/internal";
import type { CallAnswer, Reference, Step } from "../api/plan.ts";
import type { PlanStatus } from "../api/status.ts";
import { MissingData, PlanError } from "../errors.ts";
import { isTrue, type TemplateValues } from "../template/expression.ts";
import { render } from "../template/render.ts";
import { keyOfName, type Slots, slotOf } from "./slots.ts";
import { forRunAnnotation, markOf } from "./step-jobs.ts";

/** How a step stands after it was looked at. */
export type StepOutcome =
  | { readonly is: "done"; readonly message?: string; readonly result?: JsonValue }
  | { readonly is: "waiting"; readonly message: string; readonly recheckMs?: number }
  | { readonly is: "failed"; readonly message: string };

/** An object that a step applied. */
export type AppliedObject = NonNullable<PlanStatus["objects"]>[number];

/** What a step works with. */
export interface StepWorld {
  readonly ctx: Context;
  readonly slots: Slots;
  readonly values: TemplateValues;
  /** The object that the plans belong to. */
  readonly owner: Stored;
  /** Names the step in this run: `upgrade-3/migrate/schema`. */
  readonly id: string;
  readonly startedAt: string;
  /** The Job of the step, should it run one: its name, and the run that it is for. */
  readonly job: { readonly name: string; readonly mark: string };
  /** Called for each object that is applied or deleted. */
  readonly applied: (slot: string, key: string) => void;
  readonly deleted: (slot: string, key: string) => void;
}

const defaultRetryMs = 5_000;

/** A call that is not done: the step stays open, and is resumed with the same key. */
class NotDone extends Error {
  readonly answer: CallAnswer;

  constructor(answer: CallAnswer) {
    super(answer.message ?? "is not done yet");
    this.answer = answer;
  }
}

export async function lookAt(step: Step, world: StepWorld): Promise<StepOutcome> {
  if (step.apply) return await applyAll(render(step.apply as JsonValue, world.values) as JsonObject[], world);
  if (step.delete)
    return await deleteAll(render(step.delete as JsonValue, world.values) as Reference[], world);
  if (step.toggle) return await toggle(step.toggle, world);
  if (step.job) return await runJob(step.job as JsonObject, world);
  if (step.wait) return await wait(step.wait, world);
  if (step.hook) return await callHook(step, world);
  if (step.call) return await callFunction(step.call, world);
  throw new PlanError("InvalidDefinition", `step ${step.name} does nothing`);
}

/** Recorded before and after, so that it is known what was begun. Applied again while it waits: drift is put back. */
async function applyAll(objects: readonly JsonObject[], world: StepWorld): Promise<StepOutcome> {
  const { ctx, id } = world;
  await ctx.step(id, async () => {
    for (const object of objects) await applyOne(object, world);
  });
  const waits: string[] = [];
  for (const object of objects) {
    const { kind, child } = await applyOne(object, world);
    const { ready, message } = readinessOf(kind, child);
    if (child.metadata.deletionTimestamp !== undefined)
      waits.push(`${kind.kind} ${child.metadata.name} is being deleted`);
    // A claim may wait for its first pod, which comes in a later step.
    else if (!ready && groupKind(kind) !== "PersistentVolumeClaim") {
      waits.push(`${kind.kind} ${child.metadata.name}: ${message}`);
    }
  }
  return waits.length === 0 ? { is: "done" } : { is: "waiting", message: waits.join("; ") };
}

export async function applyOne(
  object: JsonObject,
  world: Pick<StepWorld, "ctx" | "slots" | "applied">,
): Promise<{ kind: AnyKind; child: Stored }> {
  const { apiVersion, kind, ...desired } = object;
  const slot = slotOf(world.slots, String(apiVersion), String(kind));
  const name = (desired["metadata"] as { name?: unknown } | undefined)?.name;
  if (typeof name !== "string" || name === "") {
    throw new PlanError("InvalidDefinition", `a ${kind} to apply needs a metadata.name`);
  }
  const key = keyOfName(name);
  world.applied(slot.name, key);
  const child = (await handleOf(world.ctx, slot.name).apply(key, desired as never)) as Stored;
  return { kind: slot.kind, child };
}

function handleOf(ctx: Context, slot: string): ManyHandle<AnyKind> {
  return (ctx.own as unknown as Record<string, ManyHandle<AnyKind>>)[slot] as ManyHandle<AnyKind>;
}

async function deleteAll(references: readonly Reference[], world: StepWorld): Promise<StepOutcome> {
  const left: string[] = [];
  for (const { apiVersion, kind, name } of references) {
    const slot = slotOf(world.slots, apiVersion, kind);
    const key = keyOfName(name);
    await handleOf(world.ctx, slot.name).delete(key);
    world.deleted(slot.name, key);
    if (handleOf(world.ctx, slot.name).get(key)) left.push(`${kind} ${name}`);
  }
  return left.length === 0
    ? { is: "done" }
    : { is: "waiting", message: `${left.join(", ")} is being deleted` };
}

async function toggle(given: NonNullable<Step["toggle"]>, world: StepWorld): Promise<StepOutcome> {
  const objects = render(given.apply as JsonValue, world.values) as JsonObject[];
  if (isTrue(given.when, world.values)) return await applyAll(objects, world);
  const references = objects.map(({ apiVersion, kind, metadata }) => ({
    apiVersion: String(apiVersion),
    kind: String(kind),
    name: String((metadata as JsonObject | undefined)?.["name"]),
  }));
  return await deleteAll(references, world);
}

/** The name follows from the run and the step: made twice, it is made once. */
async function runJob(template: JsonObject, world: StepWorld): Promise<StepOutcome> {
  const { metadata, ...rest } = render(template as JsonValue, world.values) as JsonObject;
  const { name, mark } = world.job;
  const annotations = {
    ...((metadata as JsonObject | undefined)?.["annotations"] as JsonObject | undefined),
  };
  const body = {
    apiVersion: "batch/v1",
    kind: "Job",
    ...rest,
    metadata: {
      ...(metadata as JsonObject),
      name,
      annotations: { ...annotations, [forRunAnnotation]: mark },
    },
  };
  try {
    await world.ctx.step(world.id, async () => {
      await clearJob(world);
      await applyOne(body, { ...world, applied: () => {} });
    });
  } catch (error) {
    if (error instanceof NotDone) return { is: "waiting", message: error.message, recheckMs: defaultRetryMs };
    throw error;
  }
  const slot = slotOf(world.slots, "batch/v1", "Job");
  const job = handleOf(world.ctx, slot.name).get(keyOfName(name)) as
    | (Stored & { status?: { conditions?: Condition[] } })
    | undefined;
  if (!job) return { is: "failed", message: `Job ${name} was deleted before it was complete` };
  const { conditions } = job.status ?? {};
  if (findCondition(conditions, "Complete")?.status === "True")
    return { is: "done", message: `Job ${name} is complete` };
  const failed = findCondition(conditions, "Failed");
  if (failed?.status === "True")
    return { is: "failed", message: `Job ${name} failed: ${failed.message || failed.reason}` };
  return { is: "waiting", message: `Job ${name} is running` };
}

/**
 * A Job of the same name that ran for another run says nothing of this one: it goes first. One that an earlier object of
 * the same name left behind is nobody's to delete. What others control is refused when ours is applied.
 */
async function clearJob({ ctx, slots, owner, job }: StepWorld): Promise<void> {
  const slot = slotOf(slots, "batch/v1", "Job");
  const found = await findOther(ctx, slot.kind, { namespace: owner.metadata.namespace, name: job.name });
  if (!found || markOf(found) === job.mark) return;
  const by = found.metadata.ownerReferences?.find(({ controller }) => controller);
  if (by && (by.uid !== owner.metadata.uid || markOf(found) === undefined)) return;
  const what = `Job ${job.name}`;
  if (!by) throw new NotDone({ message: `${what} of an earlier ${owner.kind} is still there; delete it` });
  await handleOf(ctx, slot.name).delete(keyOfName(job.name), { propagation: "Foreground" });
  throw new NotDone({ message: `${what} of an earlier run goes first` });
}

async function findOther(ctx: Context, kind: AnyKind, ref: object): Promise<Stored | undefined> {
  const client = ctx.client as unknown as { kind(kind: AnyKind): { find(ref: object): Promise<unknown> } };
  return (await client.kind(kind).find(ref)) as Stored | undefined;
}

async function wait(given: NonNullable<Step["wait"]>, world: StepWorld): Promise<StepOutcome> {
  const { duration, object, until } = given;
  if (duration !== undefined) {
    const ms = parseDuration(render(duration, world.values));
    const left = parseTime(world.startedAt) + ms - world.ctx.clock.now();
    if (left > 0) return { is: "waiting", message: `waits for ${duration}`, recheckMs: left };
  }
  if (!object) return { is: "done" };
  const reference = render(object as JsonValue, world.values) as Reference;
  const what = `${reference.kind} ${reference.name}`;
  const { found, kind, isOurs } = await find(reference, world);
  const again = isOurs ? {} : { recheckMs: defaultRetryMs };
  if (!found) return { is: "waiting", message: `${what} does not exist`, ...again };
  if (until !== undefined) {
    const values = { ...world.values, object: found as unknown as JsonObject };
    if (holds(until, values)) return { is: "done" };
    return { is: "waiting", message: `${what} is not as ${until} says`, ...again };
  }
  const { ready, message } = readinessOf(kind, found);
  return ready ? { is: "done" } : { is: "waiting", message: `${what}: ${message}`, ...again };
}

/** What is not there yet may come: most objects have no status at first. */
function holds(until: string, values: TemplateValues): boolean {
  try {
    return isTrue(until, values);
  } catch (error) {
    if (error instanceof MissingData) return false;
    throw error;
  }
}

/** Ours is in a cache and calls us when it changes; others are asked for. */
async function find(
  { apiVersion, kind, name }: Reference,
  { ctx, slots, owner }: StepWorld,
): Promise<{ found: Stored | undefined; kind: AnyKind; isOurs: boolean }> {
  const slot = slotOf(slots, apiVersion, kind);
  const ours = handleOf(ctx, slot.name).get(keyOfName(name)) as Stored | undefined;
  if (ours) return { found: ours, kind: slot.kind, isOurs: true };
  const namespace = slot.kind.scope === "Cluster" ? undefined : owner.metadata.namespace;
  return { found: await findOther(ctx, slot.kind, { namespace, name }), kind: slot.kind, isOurs: false };
}

async function callHook(step: Step, world: StepWorld): Promise<StepOutcome> {
  const { ctx, values, owner } = world;
  const webhook = render(step.hook as JsonValue, values) as NonNullable<Step["hook"]>;
  const client = new HookClient(
    { version: "v1", webhook },
    `the hook of step ${step.name}`,
    [],
    world.slots.calls,
  );
  return await callFunction(async ({ idempotencyKey, resumed }) => {
    const answer = await client.call(
      {
        object: owner as unknown as JsonObject,
        parameters: values.parameters,
        previous: values.previous,
        run: values.run,
        step: step.name,
        results: values.results,
        idempotencyKey,
        resumed,
      },
      world.id,
      {
        clock: ctx.clock,
        signal: ctx.signal,
        read: async (kind, ref) => {
          const granted = ctx.client as unknown as {
            kind(kind: AnyKind): { find(ref: object): Promise<unknown> };
          };
          return await granted
            .kind(kind)
            .find(ref)
            .catch((error) => {
              if (isNotFound(error)) return undefined;
              throw error;
            });
        },
        connect: (service, port) => ctx.connect({ service }, port),
      },
    );
    return answer as unknown as CallAnswer;
  }, world);
}

async function callFunction(call: NonNullable<Step["call"]>, { ctx, id }: StepWorld): Promise<StepOutcome> {
  try {
    const answer = await ctx.step(id, async (attempt) => {
      const given = (await call(attempt)) ?? {};
      if (given.done === false && !given.failed) throw new NotDone(given);
      return { ...given } as JsonValue;
    });
    const { failed, message, result } = answer as CallAnswer;
    if (failed) return { is: "failed", message: message ?? "the call said that it failed" };
    return {
      is: "done",
      ...(message === undefined ? {} : { message }),
      ...(result === undefined ? {} : { result }),
    };
  } catch (error) {
    if (!(error instanceof NotDone)) throw error;
    const { retryAfterSeconds } = error.answer;
    const recheckMs = retryAfterSeconds === undefined ? defaultRetryMs : retryAfterSeconds * 1_000;
    return { is: "waiting", message: error.message, recheckMs };
  }
}
