/** Runs the definitions that are in the cluster: a controller comes, changes and goes with its definition. */
import { isConflict, isNotFound } from "@keelson/client";
import { type Condition, canonicalJson, formatTime, type JsonObject, setCondition } from "@keelson/core";
import { allowSubresource, type RawController } from "@keelson/runtime";
import { type CacheReader, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { CompositeController, DecoratorController, type HookDefinition } from "../api/resources.ts";
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
      const definition = (ctx.caches.definitions as unknown as CacheReader<HookDefinition>).get(key);
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
        names: await start(ctx as RawContext, definition, known?.names ?? [], options),
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
  options: HookHostOptions,
): Promise<string[]> {
  const names: string[] = [];
  try {
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
