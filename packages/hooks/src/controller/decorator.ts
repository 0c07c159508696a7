/** A DecoratorController as controllers: the hook adds to objects of others. One controller for each kind of objects. */
import { isNotFound } from "@keelson/client";
import {
  type AnyKind,
  deepEqual,
  type JsonObject,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
  objectKey,
  type Stored,
} from "@keelson/core";
import type { RawController } from "@keelson/runtime";
import { type CacheReader, type RawContext, rawController } from "@keelson/runtime/internal";
import type { AnyObject, DecoratorControllerObject } from "../api/resources.ts";
import { type DecoratorAnswer, decoratorAnswer } from "../call/answers.ts";
import type { HookClient } from "../call/hook-client.ts";
import type { ChildRule } from "../children/child-rule.ts";
import { desiredChildren } from "../children/desired.ts";
import { manageChildren } from "../children/manage.ts";
import { ObjectMap } from "../children/object-map.ts";
import { HookError } from "../errors.ts";
import { replaceStatus, StatusMemory, setFinalizer } from "../parent/parent-status.ts";
import { RelatedObjects } from "../related/related-objects.ts";
import {
  childWatches,
  type Discover,
  defaultBackoff,
  defaultFieldManager,
  definitionJson,
  grantsOf,
  type HookOptions,
  type Hooks,
  hooksOf,
  kindOf,
  parentWatch,
  reporting,
  rulesOf,
} from "./hooked-controller.ts";
import { callScope } from "./scope.ts";

/** On every attachment: the decorator that made it. Another one may have attached to the same object. */
const decoratorAnnotation = "metacontroller.k8s.io/decorator-controller";

interface DecoratorParts {
  readonly definition: DecoratorControllerObject;
  readonly kind: AnyKind;
  readonly rules: readonly ChildRule[];
  readonly hooks: Hooks;
  readonly related: RelatedObjects;
  readonly statuses: StatusMemory;
  readonly finalizer: string;
  readonly labels: LabelSelector;
  readonly annotations: LabelSelector;
}

export async function decoratorControllers(
  definition: DecoratorControllerObject,
  discover: Discover,
  options: HookOptions,
): Promise<RawController[]> {
  const { name } = definition.metadata;
  const what = `DecoratorController ${name}`;
  const { resources, attachments = [], resyncPeriodSeconds } = definition.spec;
  const rules = await rulesOf(attachments, discover, what);
  const rolling = rules.find(({ method }) => method.startsWith("Rolling"));
  if (rolling) {
    throw new HookError(
      "InvalidDefinition",
      `${what} cannot roll out changes of ${rolling.kind.kind}: attachments have OnDelete, Recreate and InPlace`,
    );
  }
  const hooks = hooksOf(definition, options);
  const controllers: RawController[] = [];
  for (const [index, resource] of resources.entries()) {
    const kind = await kindOf(discover, resource.apiVersion, resource.resource, what);
    const { matchAnnotations, matchExpressions } = resource.annotationSelector ?? {};
    const parts: DecoratorParts = {
      definition,
      kind,
      rules,
      hooks,
      related: new RelatedObjects(hooks.customize, definitionJson(definition)),
      statuses: new StatusMemory(),
      finalizer: `metacontroller.io/decoratorcontroller-${name}`,
      labels: labelSelectorFrom((resource.labelSelector ?? {}) as LabelSelectorObject),
      annotations: labelSelectorFrom({
        matchLabels: matchAnnotations,
        matchExpressions,
      } as LabelSelectorObject),
    };
    controllers.push(
      rawController({
        name: index === 0 ? `decorator-${name}` : `decorator-${name}-${index}`,
        watches: {
          parent: parentWatch(kind, resource.ignoreStatusChanges ?? false),
          ...childWatches(rules, kind, () => []),
        },
        writes: await grantsOf(definition, { parent: kind, rules, hooks }, discover),
        fieldManager: options.fieldManager ?? defaultFieldManager,
        concurrency: options.concurrency ?? 5,
        backoff: options.backoff ?? defaultBackoff,
        calms: true,
        ...(resyncPeriodSeconds === undefined ? {} : { resyncMs: Math.max(1, resyncPeriodSeconds) * 1_000 }),
        reconcile: async (key, ctx) => await reconcile(parts, key, ctx as RawContext),
      }),
    );
  }
  return controllers;
}

async function reconcile(parts: DecoratorParts, key: string, ctx: RawContext): Promise<void> {
  const found = objectAt(ctx, key);
  if (!found) {
    parts.related.forget(key);
    parts.statuses.forget(key);
    return;
  }
  if (!isServed(parts, found)) return;
  await reporting(ctx, found, async () => {
    const object = await withFinalizer(parts, ctx, found);
    if (isServed(parts, object)) await sync(parts, object, ctx);
  });
}

function isSelected({ labels, annotations }: DecoratorParts, { metadata }: Stored): boolean {
  return matchesLabels(labels, metadata.labels) && matchesLabels(annotations, metadata.annotations);
}

function isServed(parts: DecoratorParts, object: Stored): boolean {
  return isSelected(parts, object) || (object.metadata.finalizers?.includes(parts.finalizer) ?? false);
}

async function withFinalizer(parts: DecoratorParts, ctx: RawContext, object: AnyObject): Promise<AnyObject> {
  const { finalizers = [], deletionTimestamp } = object.metadata;
  const wanted = parts.hooks.finalize !== undefined;
  if (finalizers.includes(parts.finalizer) === wanted || (wanted && deletionTimestamp !== undefined))
    return object;
  return await setFinalizer(ctx, parts.kind, object, parts.finalizer, wanted);
}

async function sync(parts: DecoratorParts, object: AnyObject, ctx: RawContext): Promise<void> {
  const { definition, hooks, kind, rules, related } = parts;
  const isEnding = object.metadata.deletionTimestamp !== undefined;
  const finalizing = hooks.finalize !== undefined && (isEnding || !isSelected(parts, object));
  const hook = finalizing ? hooks.finalize : hooks.sync;
  if (!hook) {
    throw new HookError(
      "InvalidDefinition",
      `DecoratorController ${definition.metadata.name} has no sync hook`,
    );
  }
  const observed = attachmentsOf(parts, object, ctx);
  const scope = callScope(ctx);
  const relatedObjects = await related.of(ctx, object, scope);
  const request: JsonObject = {
    controller: definitionJson(definition),
    object: object as unknown as JsonObject,
    attachments: observed.toRequest(hook.version, object),
    related: relatedObjects.toRequest(hook.version, object),
    finalizing,
  };
  const about = `${finalizing ? "finalize" : "sync"} ${kind.kind} ${objectKey(object)}`;
  const answer = decoratorAnswer(await hook.call(request, about, scope), hook);
  const desired = desiredOf(parts, hook, object, answer);
  if (answer.resyncAfterSeconds > 0) ctx.recheck(answer.resyncAfterSeconds * 1_000);
  const ends = finalizing && answer.finalized;
  await decorate(parts, ctx, object, answer);
  if (!ends && (!isEnding || shouldFinalize(parts, object))) {
    await manageChildren(ctx, { rules, observed, desired });
  }
  if (!ends) return;
  const current = objectAt(ctx, objectKey(object));
  if (
    current?.metadata.uid === object.metadata.uid &&
    current.metadata.finalizers?.includes(parts.finalizer)
  ) {
    await setFinalizer(ctx, kind, current, parts.finalizer, false);
  }
}

function desiredOf(parts: DecoratorParts, hook: HookClient, parent: AnyObject, answer: DecoratorAnswer) {
  return desiredChildren(answer.attachments, {
    what: hook.what,
    parent,
    parentKind: parts.kind,
    rules: parts.rules,
    field: "spec.attachments",
    annotations: { [decoratorAnnotation]: parts.definition.metadata.name },
  });
}

/** What this decorator attached to the object; nothing is adopted. */
function attachmentsOf({ rules, definition }: DecoratorParts, object: Stored, ctx: RawContext): ObjectMap {
  const found = new ObjectMap();
  for (const { kind, watch } of rules) {
    found.addKind(kind);
    const cache = ctx.caches[watch] as unknown as CacheReader<Stored>;
    for (const each of cache.byIndex("owner", object.metadata.uid)) {
      if (each.metadata.annotations?.[decoratorAnnotation] === definition.metadata.name)
        found.add(kind, each);
    }
  }
  return found;
}

/** Labels, annotations and status of the object itself. What the answer does not name stays as it is. */
async function decorate(
  { kind, statuses }: DecoratorParts,
  ctx: RawContext,
  object: AnyObject,
  answer: DecoratorAnswer,
): Promise<void> {
  const labels = changed(object.metadata.labels, answer.labels);
  const annotations = changed(object.metadata.annotations, answer.annotations);
  const { namespace, name, uid } = object.metadata;
  if (labels || annotations) {
    const body = { metadata: { uid, ...(labels && { labels }), ...(annotations && { annotations }) } };
    try {
      await ctx.kind(kind).patch({ namespace, name }, { type: "merge", body });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return;
    }
  }
  const current = objectAt(ctx, objectKey(object));
  if (answer.status === null || current?.metadata.uid !== uid) return;
  if (deepEqual((current.status ?? {}) as JsonObject, answer.status)) return;
  await replaceStatus(ctx, kind, current, answer.status, statuses);
}

/** The entries that differ; null takes one away. */
function changed(
  current: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string | null>>,
): Record<string, string | null> | undefined {
  const different = Object.entries(wanted).filter(([key, value]) => (current?.[key] ?? null) !== value);
  return different.length === 0 ? undefined : Object.fromEntries(different);
}

function shouldFinalize({ finalizer }: DecoratorParts, { metadata }: Stored): boolean {
  const { finalizers = [] } = metadata;
  if (finalizers.includes("foregroundDeletion") || finalizers.includes("orphan")) return false;
  return finalizers.includes(finalizer);
}

function objectAt(ctx: RawContext, key: string): AnyObject | undefined {
  return (ctx.caches["parent"] as unknown as CacheReader<AnyObject>).get(key);
}
