/** Runs the definitions that are in the cluster: a kind and its controller come, change and go with each. */
import { isForbidden, isNotFound } from "@keelson/client";
import { type AnyKind, canonicalJson, type JsonObject, type Stored } from "@keelson/core";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import type { CallOptions } from "@keelson/hooks";
import { allow, type Controller, controller, done, waiting } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { PlanDefinition, type PlanDefinitionObject } from "../api/definition.ts";
import { PlanError } from "../errors.ts";
import { finalizerSweep, sweepName } from "./finalizer-sweep.ts";
import { controllerOf, type PlannedController } from "./plan-controllers.ts";

/** On the CustomResourceDefinition of a definition: the definition. */
const definitionAnnotation = "plans.keelson.dev/definition";

type Crd = Stored<CustomResourceDefinitionObject>;

interface Finding {
  kind(kind: AnyKind): { find(ref: object): Promise<unknown> };
}

/** A kind that others serve would lose the fields that its schema has for them. */
async function refuseForeign(
  { metadata, spec }: Crd,
  definition: PlanDefinitionObject,
  { client }: { readonly client: Finding },
): Promise<void> {
  const what = `the CustomResourceDefinition ${metadata.name}`;
  const by = metadata.annotations?.[definitionAnnotation];
  if (by === definition.metadata.name) return;
  if (by === undefined) {
    const status = spec.versions[0]?.schema?.openAPIV3Schema?.properties?.["status"]?.properties;
    // An earlier release put no mark on it, and neither does who installs it from files.
    if (status?.["plan"]?.properties?.["run"] && status["applied"]) return;
    throw new PlanError(
      "InvalidDefinition",
      `${what} exists and is not for plans; give the definition another kind or group`,
    );
  }
  const other = (await client.kind(PlanDefinition).find({ name: by })) as PlanDefinitionObject | undefined;
  const { group, kind } = definition.spec.resource;
  if (other?.spec.resource.kind !== kind || other.spec.resource.group !== group) return;
  throw new PlanError(
    "InvalidDefinition",
    `${what} belongs to PlanDefinition ${by}; give one of them another kind or group`,
  );
}

/**
 * A controller that runs every PlanDefinition of the cluster. What the definitions need is not part of its role: who
 * installs a definition installs the role for it. The kind of a definition stays when the definition goes, because its
 * objects would go with it.
 */
export function planHost(options: CallOptions = {}): Controller {
  const running = new Map<string, string>();
  return controller(PlanDefinition, {
    name: "plandefinition",
    writes: [allow(CustomResourceDefinition, ["get", "list", "watch", "create", "patch"])],
    reconcile: async (definition, ctx) => {
      const spec = canonicalJson(definition.spec as unknown as JsonObject);
      const made = await controllerOf(definition as PlanDefinitionObject, ctx.server.discover, options);
      const { name } = made.controller;
      if (ctx.controllers.get(name) !== undefined && running.get(name) === spec) return done();
      const crd = made.kind.crd();
      const crds = ctx.client.kind(CustomResourceDefinition);
      const existing = (await crds.find({ name: crd.metadata.name })) as Crd | undefined;
      if (existing) await refuseForeign(existing, definition as PlanDefinitionObject, ctx as never);
      const annotations = { ...crd.metadata.annotations, [definitionAnnotation]: definition.metadata.name };
      const marked = { ...crd, metadata: { ...crd.metadata, annotations } };
      const applied = await crds.apply(marked as never, { force: true });
      const { conditions } =
        (applied as { status?: { conditions?: { type: string; status: string }[] } }).status ?? {};
      if (!conditions?.some(({ type, status }) => type === "Established" && status === "True")) {
        return waiting("KindNotEstablished", `the kind ${definition.spec.resource.kind} is not served yet`, {
          recheckMs: 500,
        });
      }
      await ctx.controllers.start(made.controller);
      const { finalizer } = made.controller.options;
      // An earlier definition may have had a plan before the object goes, and this one waits for nothing.
      if (made.controller.finalize) await ctx.controllers.stop(sweepName(name));
      else await ctx.controllers.start(finalizerSweep(sweepName(name), made.kind, finalizer));
      running.set(name, spec);
      return done({ message: `runs the plans of ${definition.spec.resource.kind}` });
    },
    finalize: async (definition, ctx) => {
      const name = `plans-${definition.metadata.name}`.slice(0, 63);
      const made = await madeOf(definition as PlanDefinitionObject, ctx.server.discover, options);
      if (made?.controller.finalize) {
        const ending = await endingObjects(made, ctx.server.read);
        if (ending > 0) {
          // Their last plan runs: nobody else would take their finalizers away.
          if (ctx.controllers.get(name) === undefined) await ctx.controllers.start(made.controller);
          const message = `${ending} objects of ${made.kind.kind} are being deleted`;
          return waiting("Deleting", message, { recheckMs: 1_000 });
        }
      }
      await ctx.controllers.stop(name);
      await ctx.controllers.stop(sweepName(name));
      running.delete(name);
      return done();
    },
  });
}

/** Undefined for a definition that cannot work: it holds up nothing. */
async function madeOf(
  ...args: Parameters<typeof controllerOf>
): Promise<Awaited<ReturnType<typeof controllerOf>> | undefined> {
  try {
    return await controllerOf(...args);
  } catch (error) {
    if (error instanceof PlanError) return undefined;
    throw error;
  }
}

async function endingObjects(
  { kind, controller: { options } }: PlannedController,
  read: (path: string) => Promise<unknown>,
): Promise<number> {
  try {
    const path = `/apis/${kind.group}/${kind.version}/${kind.resource}`;
    const { items = [] } = (await read(path)) as { items?: Stored[] };
    return items.filter(
      ({ metadata }) =>
        metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(options.finalizer),
    ).length;
  } catch (error) {
    // The kind, or the permission for it, went before the definition.
    if (isNotFound(error) || isForbidden(error)) return 0;
    throw error;
  }
}
