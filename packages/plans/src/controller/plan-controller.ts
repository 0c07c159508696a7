/** A controller that runs plans for a resource of one's own. */
import type { AnyKind, ObjectOf, Stored } from "@keelson/core";
import { ConfigMap, Job, Secret } from "@keelson/core/kinds";
import type { CallOptions } from "@keelson/hooks";
import { namedObjects } from "@keelson/hooks/internal";
import {
  allow,
  type Controller,
  type ControllerOptions,
  controller,
  type Grant,
  many,
  type Owns,
} from "@keelson/runtime";
import type { Plans } from "../api/plan.ts";
import { checkPlans } from "../engine/check.ts";
import { runLast, runPlans } from "../engine/run-plans.ts";
import { type Slots, slotsOf } from "../engine/slots.ts";

/** What a controller of plans is made of. */
export interface PlanControllerDefinition<K extends AnyKind>
  extends Pick<ControllerOptions, "name" | "concurrency" | "labels" | "backoff">,
    CallOptions {
  /** The kinds that steps apply, delete and wait for. Jobs are always among them. */
  readonly kinds: readonly AnyKind[];
  /** The plans of an object. Their names, triggers and kinds must be the same for all objects. */
  readonly plans: Plans | ((object: ObjectOf<K>) => Plans);
  /** The plan that runs before an object goes. Default: the one with `on.delete`, when the plans are given as data. */
  readonly onDelete?: string;
  /** What `wait` may read beyond that, and what functions of steps do. */
  readonly writes?: readonly Grant[];
}

/**
 * Runs the plans of each object: the one for new objects, then whichever its changed spec, a schedule or a person asks
 * for. The status of the resource must have the fields of `planStatus`.
 */
export function planController<K extends AnyKind>(
  kind: K,
  definition: PlanControllerDefinition<K>,
): Controller {
  const { plans, kinds, writes = [], onDelete, ...options } = definition;
  const { transport, services, maxAnswerBytes, ...controllerOptions } = options;
  const what = kind.kind;
  if (typeof plans !== "function") checkPlans(plans, what);
  const calls: CallOptions = {
    ...(services && { services }),
    ...(transport && { transport }),
    ...(maxAnswerBytes === undefined ? {} : { maxAnswerBytes }),
  };
  const slots = slotsOf([Job, ...kinds], calls);
  const plansOf = (object: Stored): Plans => {
    if (typeof plans !== "function") return plans;
    const made = plans(object as ObjectOf<K>);
    checkPlans(made, `${what} ${object.metadata.name}`);
    return made;
  };
  const last = onDelete ?? (typeof plans === "function" ? undefined : lastPlan(plans));
  return controller(kind, {
    ...controllerOptions,
    owns: ownsOf(slots),
    writes: [
      ...writes,
      ...slots.all.map((slot) => allow(slot.kind, ["get"])),
      ...(typeof plans === "function" ? [] : credentialGrants(plans)),
    ],
    reconcile: async (object: Stored, ctx: never) =>
      await runPlans({ ctx, object, plans: plansOf(object), slots }),
    ...(last === undefined
      ? {}
      : {
          finalize: async (object: Stored, ctx: never) =>
            await runLast({ ctx, object, plans: plansOf(object), slots }, last),
        }),
  } as never);
}

function lastPlan(plans: Plans): string | undefined {
  return Object.keys(plans).find((name) => plans[name]?.on?.delete);
}

/** Secrets and ConfigMaps that hooks of steps are called with. A name that is an expression may be any. */
function credentialGrants(plans: Plans): Grant[] {
  const steps = Object.values(plans).flatMap(({ phases }) => phases.flatMap((phase) => phase.steps));
  const named = steps.flatMap(({ hook }) => (hook ? namedObjects(hook) : []));
  return [Secret, ConfigMap].flatMap((kind) => {
    const names = [...new Set(named.filter((each) => each.kind === kind).map(({ name }) => name))];
    if (names.length === 0) return [];
    return [
      names.some((name) => name.includes("${")) ? allow(kind, ["get"]) : allow(kind, ["get"], { names }),
    ];
  });
}

/** Nothing is pruned by omission: plans say what goes. */
function ownsOf({ all }: Slots): Owns {
  return Object.fromEntries(all.map(({ name, kind }) => [name, many(kind, { absent: "keep" })]));
}
