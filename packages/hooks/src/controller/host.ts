/** Runs the definitions that are in the cluster: a controller comes, changes and goes with its definition. */
import { isConflict, isNotFound } from "@keelson/client";
import {
  type Condition,
  canonicalJson,
  formatTime,
  type JsonObject,
  parseApiVersion,
  setCondition,
} from "@keelson/core";
import { allowSubresource, type RawController } from "@keelson/runtime";
import { type CacheReader, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import {
  CompositeController,
  type CompositeControllerObject,
  DecoratorController,
  type HookDefinition,
} from "../api/resources.ts";
import { HookError } from "../errors.ts";
import { controllersOf } from "./hook-controllers.ts";
import type { HookOptions } from "./hooked-controller.ts";

/** How definitions in the cluster are run. */
export interface HookHostOptions extends HookOptions {
  /** Only definitions with these labels. Default: all. */
  readonly labels?: string;
}

/**
 * Two controllers that run every CompositeController and DecoratorController of the cluster. What the definitions need is
 * not part of their role: who installs a definition installs the role for it.
 */
export function hookHosts(options: HookHostOptions = {}): RawController[] {
  return [CompositeController, DecoratorController].map((kind) => host(kind, options));
}

function host(
  kind: typeof CompositeController | typeof DecoratorController,
  options: HookHostOptions,
): RawController {
  /** What runs, as it was last started. */
  const running = new Map<string, Running>();
  const name = kind.kind.toLowerCase();
  return rawController({
    name,
    watches: { definitions: watch(kind, options.labels === undefined ? {} : { labels: options.labels }) },
    writes: [allowSubresource(kind, "status", ["update"])],
    // A definition may be installed before the kinds that it names.
    backoff: { firstMs: 500, longestMs: 15_000 },
    reconcile: async (key, ctx) => {
      const id = `${name}/${key}`;
      const cache = ctx.caches.definitions as unknown as CacheReader<HookDefinition>;
      const definition = cache.get(key);
      const known = running.get(id);
      if (!definition || definition.metadata.deletionTimestamp !== undefined) {
        running.delete(id);
        for (const each of known?.names ?? []) await ctx.controllers.stop(each);
        return;
      }
      const spec = canonicalJson([definition.spec, definition.metadata.uid] as unknown as JsonObject);
      const runs = known?.names.every((each) => ctx.controllers.get(each) !== undefined);
      if (runs && known?.spec === spec) return;
      running.delete(id);
      running.set(id, {
        spec,
        names: await start(ctx as RawContext, definition, known?.names ?? [], {
          ...options,
          others: cache.list(),
        }),
      });
    },
  });
}

interface Running {
  readonly spec: string;
  readonly names: readonly string[];
}

/** The names of what runs now; those that ran before and are not among them are stopped. */
async function start(
  ctx: RawContext,
  definition: HookDefinition,
  before: readonly string[],
  { others, ...options }: HookHostOptions & { readonly others: readonly HookDefinition[] },
): Promise<string[]> {
  const names: string[] = [];
  try {
    refuseRival(definition, others);
    const controllers = await controllersOf(definition, ctx.server.discover, options);
    for (const each of controllers) {
      await ctx.controllers.start(each);
      names.push(each.name);
    }
    for (const each of before) if (!names.includes(each)) await ctx.controllers.stop(each);
  } catch (error) {
    for (const each of new Set([...before, ...names])) await ctx.controllers.stop(each);
    const { message } = error as Error;
    ctx.event(definition, "Warning", "CreateError", `Cannot create new controller: ${message}`);
    await report(ctx, definition, { status: "False", reason: codeOf(error), message });
    throw error;
  }
  ctx.event(definition, "Normal", "Started", `Started controller: ${definition.metadata.name}`);
  await report(ctx, definition, { status: "True", reason: "Running", message: "its hooks are called" });
  return names;
}

/** Two hooks that say which children of one kind a parent has would each delete what the other made. */
function refuseRival(definition: HookDefinition, others: readonly HookDefinition[]): void {
  if (definition.kind !== CompositeController.kind) return;
  const own = definition as CompositeControllerObject;
  for (const each of others as readonly CompositeControllerObject[]) {
    const { name, uid, deletionTimestamp } = each.metadata;
    if (uid === own.metadata.uid || deletionTimestamp !== undefined || !isEarlier(each, own)) continue;
    const shared = sharedChild(own, each);
    if (shared === undefined) continue;
    throw new HookError(
      "InvalidDefinition",
      `CompositeController ${own.metadata.name} and CompositeController ${name} both say which ${shared} a ` +
        `${own.spec.parentResource.resource} has; give them different children, or parents of different labels`,
    );
  }
}

function isEarlier(a: HookDefinition, b: HookDefinition): boolean {
  const [of, than] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
  return (of as string) < (than as string);
}

/** A kind of children that both have for the same parents. */
function sharedChild(a: CompositeControllerObject, b: CompositeControllerObject): string | undefined {
  const [parent, other] = [a.spec.parentResource, b.spec.parentResource];
  if (resourceOf(parent) !== resourceOf(other)) return undefined;
  // Two selectors that differ are taken to find different parents.
  const [one, two] = [parent.labelSelector, other.labelSelector];
  if (one && two && canonicalJson(one as JsonObject) !== canonicalJson(two as JsonObject)) return undefined;
  const theirs = new Set((b.spec.childResources ?? []).map(resourceOf));
  return (a.spec.childResources ?? []).find((each) => theirs.has(resourceOf(each)))?.resource;
}

function resourceOf({ apiVersion, resource }: { apiVersion: string; resource: string }): string {
  return `${resource}.${parseApiVersion(apiVersion).group}`;
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "CreateError";
}

/** A CustomResourceDefinition of Metacontroller has no place for it: then the event is all there is. */
async function report(
  ctx: RawContext,
  definition: HookDefinition,
  state: Pick<Condition, "status" | "reason" | "message">,
): Promise<void> {
  const kind = definition.kind === CompositeController.kind ? CompositeController : DecoratorController;
  const { generation } = definition.metadata;
  const before = definition.status?.conditions ?? [];
  const update = {
    type: "Ready",
    ...state,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const conditions = setCondition(before, update, formatTime(ctx.clock.now()));
  if (conditions === before) return;
  try {
    await ctx
      .kind(kind)
      .subresource("status")
      .update({ ...definition, status: { ...definition.status, conditions } } as never);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
