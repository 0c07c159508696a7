/** Definitions in, controllers out: for definitions that come from files. */
import type { Client } from "@keelson/client";
import { type AnyKind, type JsonObject, type KubeObject, parseApiVersion } from "@keelson/core";
import type { CallOptions } from "@keelson/hooks";
import { allow, type Controller } from "@keelson/runtime";
import {
  PlanDefinition,
  type PlanDefinitionObject,
  type PlannedKind,
  plannedKind,
} from "../api/definition.ts";
import type { Plans } from "../api/plan.ts";
import { checkPlans } from "../engine/check.ts";
import { PlanError } from "../errors.ts";
import { planController } from "./plan-controller.ts";

/** A definition that can run: the kind to install, and its controller. */
export interface PlannedController {
  readonly kind: PlannedKind;
  readonly controller: Controller;
}

/** Finds a kind by its name. */
type Discover = (apiVersion: string, kind: string) => Promise<AnyKind>;

/** Whether an object is a PlanDefinition. */
export function isPlanDefinition(object: KubeObject): boolean {
  const { group } = parseApiVersion(object.apiVersion ?? "");
  return group === PlanDefinition.group && object.kind === PlanDefinition.kind;
}

/**
 * The controllers of some definitions, to be given to an operator, and the kinds to install before it starts. A definition
 * that cannot work is an error that says why. The role that follows is exactly what the definitions need.
 */
export async function planControllers(
  definitions: readonly KubeObject[],
  client: Pick<Client, "discover">,
  options: CallOptions = {},
): Promise<PlannedController[]> {
  const made: PlannedController[] = [];
  for (const object of definitions) {
    made.push(
      await controllerOf(parsed(object), (apiVersion, kind) => client.discover(apiVersion, kind), options),
    );
  }
  return made;
}

function parsed(object: KubeObject): PlanDefinitionObject {
  if (!isPlanDefinition(object)) {
    throw new PlanError("InvalidDefinition", `${object.kind} of ${object.apiVersion} is no PlanDefinition`);
  }
  try {
    return { ...object, ...(PlanDefinition.parse(object) as object) } as PlanDefinitionObject;
  } catch (cause) {
    const { message } = cause as Error;
    throw new PlanError("InvalidDefinition", `PlanDefinition ${object.metadata?.name}: ${message}`, {
      cause,
    });
  }
}

export async function controllerOf(
  definition: PlanDefinitionObject,
  discover: Discover,
  options: CallOptions,
): Promise<PlannedController> {
  const what = `PlanDefinition ${definition.metadata.name}`;
  const plans = definition.spec.plans as unknown as Plans;
  checkPlans(plans, what);
  const kind = plannedKind(definition);
  const kinds: AnyKind[] = [];
  for (const { apiVersion, kind: name } of kindsOf(plans))
    kinds.push(await found(discover, apiVersion, name, what));
  const name = definition.metadata.name;
  return {
    kind,
    controller: planController(kind, {
      ...options,
      name: `plans-${name}`.slice(0, 63),
      kinds,
      plans,
      // Finalizers come with a plan before the object goes, and are taken away when a later definition has none.
      writes: [allow(kind, ["patch"])],
    }),
  };
}

/** What steps name, each once. Kinds are words, never expressions: the role follows from them. */
function kindsOf(plans: Plans): { apiVersion: string; kind: string }[] {
  const steps = Object.values(plans).flatMap(({ phases }) => phases.flatMap((phase) => phase.steps));
  const named = steps.flatMap((step) => [
    ...((step.apply ?? []) as JsonObject[]),
    ...((step.toggle?.apply ?? []) as JsonObject[]),
    ...((step.delete ?? []) as unknown as JsonObject[]),
    ...(step.wait?.object ? [step.wait.object as unknown as JsonObject] : []),
  ]);
  const all = new Map<string, { apiVersion: string; kind: string }>();
  for (const { apiVersion, kind } of named) {
    if (typeof apiVersion !== "string" || typeof kind !== "string" || `${apiVersion}${kind}`.includes("${")) {
      throw new PlanError(
        "InvalidDefinition",
        `a step names an object whose apiVersion and kind are ${JSON.stringify([apiVersion, kind])}; write both out`,
      );
    }
    all.set(`${apiVersion} ${kind}`, { apiVersion, kind });
  }
  return [...all.values()];
}

async function found(discover: Discover, apiVersion: string, kind: string, what: string): Promise<AnyKind> {
  try {
    return await discover(apiVersion, kind);
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "KindUnknown") throw cause;
    throw new PlanError(
      "InvalidDefinition",
      `${what} names ${kind} of ${apiVersion}, which the cluster does not serve; install what provides it, or correct ` +
        "the name",
      { cause },
    );
  }
}
