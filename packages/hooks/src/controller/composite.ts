/** A CompositeController as a controller: the hook says which children each parent has. */
import {
  type AnyKind,
  groupKind,
  type JsonObject,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFrom,
  labelSelectorFromLabels,
  matchesLabels,
  objectKey,
  type Stored,
} from "@keelson/core";
import { allow, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type RawContext,
  type RawWatch,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import { type AnyObject, type CompositeControllerObject, ControllerRevision } from "../api/resources.ts";
import { type CompositeAnswer, compositeAnswer } from "../call/answers.ts";
import { type ChildRule, isRolling } from "../children/child-rule.ts";
import { claim, claimIndexes } from "../children/claim.ts";
import { type DesiredChild, desiredChildren } from "../children/desired.ts";
import { manageChildren } from "../children/manage.ts";
import { ObjectMap } from "../children/object-map.ts";
import { HookError } from "../errors.ts";
import { replaceStatus, StatusMemory, setFinalizer } from "../parent/parent-status.ts";
import { RelatedObjects } from "../related/related-objects.ts";
import { rollOut } from "../rolling/roll-out.ts";
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

/** The label by which children are found when the definition generates the selector. */
const uidLabel = "controller-uid";

/** What a composite controller works with. */
export interface CompositeParts {
  readonly definition: CompositeControllerObject;
  readonly parentKind: AnyKind;
  readonly rules: readonly ChildRule[];
  readonly hooks: Hooks;
  readonly related: RelatedObjects;
  readonly statuses: StatusMemory;
  readonly finalizer: string;
  /** Which parents it is for. */
  readonly parents: LabelSelector;
}

/** What the hook says of a parent, checked. */
export interface Synced {
  readonly status: JsonObject;
  readonly children: readonly DesiredChild[];
  readonly resyncAfterSeconds: number;
  readonly finalized: boolean;
}

export async function compositeController(
  definition: CompositeControllerObject,
  discover: Discover,
  options: HookOptions,
): Promise<RawController> {
  const { name } = definition.metadata;
  const what = `CompositeController ${name}`;
  const { parentResource, childResources = [], resyncPeriodSeconds } = definition.spec;
  const parentKind = await kindOf(discover, parentResource.apiVersion, parentResource.resource, what);
  const rules = await rulesOf(childResources, discover, what);
  const hooks = hooksOf(definition, options);
  const isRolled = rules.some(isRolling);
  if (isRolled && parentKind.scope === "Cluster") {
    throw new HookError(
      "InvalidDefinition",
      `${what} rolls changes out for ${groupKind(parentKind)}, which has no namespace to keep revisions in`,
    );
  }
  const parts: CompositeParts = {
    definition,
    parentKind,
    rules,
    hooks,
    related: new RelatedObjects(hooks.customize, definitionJson(definition)),
    statuses: new StatusMemory(),
    finalizer: `metacontroller.io/compositecontroller-${name}`,
    parents: labelSelectorFrom((parentResource.labelSelector ?? {}) as LabelSelectorObject),
  };
  const watches: Record<string, RawWatch> = {
    parent: parentWatch(parentKind, parentResource.ignoreStatusChanges ?? false),
    ...childWatches(rules, parentKind, (object, parents) => adopters(parts, object, parents)),
    ...(isRolled
      ? { revisions: watch(ControllerRevision, { applies: true, indexes: claimIndexes, keys: () => [] }) }
      : {}),
  };
  return rawController({
    name: `composite-${name}`,
    watches,
    writes: [
      ...(await grantsOf(definition, { parent: parentKind, rules, hooks }, discover)),
      ...(isRolled ? [allow(ControllerRevision, ["create", "patch", "delete"])] : []),
    ],
    fieldManager: options.fieldManager ?? defaultFieldManager,
    concurrency: options.concurrency ?? 5,
    backoff: options.backoff ?? defaultBackoff,
    calms: true,
    ...(resyncPeriodSeconds === undefined ? {} : { resyncMs: Math.max(1, resyncPeriodSeconds) * 1_000 }),
    reconcile: async (key, ctx) => await reconcile(parts, key, ctx as RawContext),
  });
}

async function reconcile(parts: CompositeParts, key: string, ctx: RawContext): Promise<void> {
  const found = parentAt(ctx, key);
  if (!found) {
    parts.related.forget(key);
    parts.statuses.forget(key);
    return;
  }
  if (!isServed(parts, found)) return;
  await reporting(ctx, found, async () => {
    const parent = await withFinalizer(parts, ctx, found);
    if (isServed(parts, parent)) await sync(parts, parent, ctx);
  });
}

/** Parents that the definition does not select are left alone, but for those that it has to finalize. */
function isServed({ parents, finalizer }: CompositeParts, parent: Stored): boolean {
  return (
    matchesLabels(parents, parent.metadata.labels) ||
    (parent.metadata.finalizers?.includes(finalizer) ?? false)
  );
}

/** The finalizer is there before anything is made, and goes when the definition has no finalize hook any more. */
async function withFinalizer(parts: CompositeParts, ctx: RawContext, parent: Stored): Promise<Stored> {
  const { hooks, parentKind, finalizer } = parts;
  const { finalizers = [], deletionTimestamp } = parent.metadata;
  const wanted = hooks.finalize !== undefined;
  if (finalizers.includes(finalizer) === wanted) return parent;
  if (wanted && deletionTimestamp !== undefined) return parent;
  return await setFinalizer(ctx, parentKind, parent, finalizer, wanted);
}

async function sync(parts: CompositeParts, parent: AnyObject, ctx: RawContext): Promise<void> {
  const { definition, parentKind, finalizer, rules, hooks } = parts;
  const key = objectKey(parent);
  const selector = selectorOf(parts, parent);
  const observed = new ObjectMap();
  for (const { kind, watch: name } of rules) {
    observed.addKind(kind);
    for (const child of await claim(ctx, { parent, parentKind, selector, kind, watch: name })) {
      observed.add(kind, child);
    }
  }
  const isEnding = parent.metadata.deletionTimestamp !== undefined;
  const mayManage = !isEnding || shouldFinalize(parts, parent);
  const result =
    mayManage && rules.some(isRolling)
      ? await rollOut(ctx, {
          definition,
          parent,
          parentKind,
          rules,
          observed,
          selector,
          isGenerated: definition.spec.generateSelector ?? false,
          ask: (at, revision) => ask(parts, at, observed, ctx, revision),
        })
      : await ask(parts, parent, observed, ctx);
  if (!result) {
    throw new HookError(
      "InvalidDefinition",
      `CompositeController ${definition.metadata.name} has no sync hook`,
    );
  }
  if (result.resyncAfterSeconds > 0) ctx.recheck(result.resyncAfterSeconds * 1_000);
  refuseUnselected(result.children, selector, hooks.sync?.what ?? "the hook");
  const ends = result.finalized && (parent.metadata.finalizers?.includes(finalizer) ?? false);
  let failure: unknown;
  if (mayManage && !ends) {
    try {
      await manageChildren(ctx, { rules, observed, desired: result.children });
    } catch (error) {
      // The status is told all the same: it speaks of what was observed.
      failure = error;
    }
  }
  const current = parentAt(ctx, key);
  if (current?.metadata.uid === parent.metadata.uid) {
    const status = { ...result.status, observedGeneration: parent.metadata.generation ?? 0 };
    await replaceStatus(ctx, parentKind, current, status, parts.statuses);
  }
  if (ends) await endFinalizing(parts, key, parent, ctx);
  if (failure !== undefined) throw failure;
}

async function endFinalizing(
  parts: CompositeParts,
  key: string,
  parent: Stored,
  ctx: RawContext,
): Promise<void> {
  const current = parentAt(ctx, key);
  if (current?.metadata.uid !== parent.metadata.uid) return;
  await setFinalizer(ctx, parts.parentKind, current, parts.finalizer, false);
}

/** Undefined when no hook is defined for the state that the parent is in. */
async function ask(
  parts: CompositeParts,
  parent: AnyObject,
  observed: ObjectMap,
  ctx: RawContext,
  revision = "",
): Promise<Synced | undefined> {
  const { definition, hooks, parents, related, rules, parentKind } = parts;
  const isOver =
    parent.metadata.deletionTimestamp !== undefined || !matchesLabels(parents, parent.metadata.labels);
  const finalizing = hooks.finalize !== undefined && isOver;
  const hook = finalizing ? hooks.finalize : hooks.sync;
  if (!hook) return undefined;
  const scope = callScope(ctx);
  const relatedObjects = await related.of(ctx, parent, scope);
  const request: JsonObject = {
    controller: definitionJson(definition),
    parent: parent as unknown as JsonObject,
    children: observed.toRequest(hook.version, parent),
    related: relatedObjects.toRequest(hook.version, parent),
    finalizing,
  };
  const about = `${finalizing ? "finalize" : "sync"} ${objectKey(parent)} ${parent.metadata.uid} ${revision}`;
  const answer: CompositeAnswer = compositeAnswer(await hook.call(request, about, scope), hook);
  return {
    status: answer.status ?? {},
    resyncAfterSeconds: answer.resyncAfterSeconds,
    finalized: finalizing && answer.finalized,
    children: desiredChildren(answer.children, {
      what: hook.what,
      parent,
      parentKind,
      rules,
      field: "spec.childResources",
      ...(definition.spec.generateSelector ? { labels: { [uidLabel]: parent.metadata.uid } } : {}),
    }),
  };
}

/** A parent that the garbage collector works on is left to it. */
function shouldFinalize({ hooks, finalizer }: CompositeParts, { metadata }: Stored): boolean {
  const { finalizers = [] } = metadata;
  if (finalizers.includes("foregroundDeletion") || finalizers.includes("orphan")) return false;
  return hooks.finalize !== undefined && finalizers.includes(finalizer);
}

/** The selector by which a parent finds its children. */
function selectorOf({ definition, parentKind }: CompositeParts, parent: AnyObject): LabelSelector {
  if (definition.spec.generateSelector) return labelSelectorFromLabels({ [uidLabel]: parent.metadata.uid });
  const selector = parent.spec?.["selector"] as LabelSelectorObject | undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) {
    throw new HookError(
      "InvalidParent",
      `${parentKind.kind} ${objectKey(parent)} needs a spec.selector with matchLabels or matchExpressions, because ` +
        `CompositeController ${definition.metadata.name} does not set generateSelector`,
    );
  }
  return labelSelectorFrom(selector as LabelSelectorObject);
}

/** A child that its parent's selector does not find would be let go at once. */
function refuseUnselected(children: readonly DesiredChild[], selector: LabelSelector, what: string): void {
  for (const { rule, key, body } of children) {
    if (matchesLabels(selector, (body.metadata["labels"] ?? {}) as Record<string, string>)) continue;
    throw new HookError(
      "InvalidChild",
      `${what} asks for ${groupKind(rule.kind)} ${key}, whose labels its parent's spec.selector does not match`,
    );
  }
}

/** Parents that would adopt an object. */
function* adopters(parts: CompositeParts, object: Stored, parents: readonly Stored[]): Iterable<string> {
  if (parts.definition.spec.generateSelector) return;
  for (const parent of parents) {
    try {
      if (matchesLabels(selectorOf(parts, parent), object.metadata.labels)) yield objectKey(parent);
    } catch {
      // It has no selector: its own reconcile says so.
    }
  }
}

function parentAt(ctx: RawContext, key: string): AnyObject | undefined {
  return (ctx.caches["parent"] as unknown as CacheReader<AnyObject>).get(key);
}
