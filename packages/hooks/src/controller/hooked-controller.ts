/** What both kinds of definitions share: their hooks, the kinds of their children, permissions and triggers. */
import {
  type AnyKind,
  deepEqual,
  groupKind,
  type JsonObject,
  keyOf,
  parseApiVersion,
  type Stored,
} from "@keelson/core";
import { ConfigMap, Pod, Secret, Service } from "@keelson/core/kinds";
import { allow, allowSubresource, type Backoff, type Grant } from "@keelson/runtime";
import type { Change, RawContext, RawWatch } from "@keelson/runtime/internal";
import { watch } from "@keelson/runtime/internal";
import type { HookDefinition } from "../api/resources.ts";
import { functionHook, type HookFunctions } from "../call/functions.ts";
import { type CallOptions, HookClient } from "../call/hook-client.ts";
import type { ChildRule, ConditionCheck, UpdateMethod } from "../children/child-rule.ts";
import { claimIndexes } from "../children/claim.ts";
import { HookError } from "../errors.ts";

/** How definitions become controllers. */
export interface HookOptions extends CallOptions {
  /** Hooks of a CompositeController as functions of this process, in place of those that the definition names. */
  readonly functions?: HookFunctions;
  /** How many parents of a definition are looked at at once. Default: 5. */
  readonly concurrency?: number;
  /** Signs what is written. Default: `metacontroller`, so that what Metacontroller made is taken over. */
  readonly fieldManager?: string;
  /** How long a parent whose hook failed waits. Default: 250 ms at first, at most 20 s: a hook that works again is asked soon. */
  readonly backoff?: Backoff;
}

/** Finds a kind by its plural name. */
export type Discover = (apiVersion: string, resource: string) => Promise<AnyKind>;

/** Names kinds that a customize hook may ask for, as `v1/configmaps,apps/v1/deployments`: for the role. */
export const relatedAnnotation = "hooks.keelson.dev/related";

export const defaultBackoff: Backoff = { firstMs: 250, longestMs: 20_000 };
export const defaultFieldManager = "metacontroller";

/** The hooks of a definition. */
export interface Hooks {
  readonly sync: HookClient | undefined;
  readonly finalize: HookClient | undefined;
  readonly customize: HookClient | undefined;
}

export function hooksOf(definition: HookDefinition, options: HookOptions): Hooks {
  const { hooks, endpointConfigs = [] } = definition.spec;
  const what = `${definition.kind} ${definition.metadata.name}`;
  const { functions = {} } = options;
  if (!hooks?.sync && !hooks?.finalize && !functions.sync) {
    throw new HookError("InvalidDefinition", `${what} has no hooks; give it spec.hooks.sync`);
  }
  const client = (name: "sync" | "finalize" | "customize") => {
    const hook = hooks?.[name];
    const called = `the ${name} hook of ${what}`;
    const own = functions[name];
    if (own) {
      const made = functionHook(own, hook?.version);
      return new HookClient(made.hook, called, [], made.options);
    }
    return hook && new HookClient(hook, called, endpointConfigs, options);
  };
  return { sync: client("sync"), finalize: client("finalize"), customize: client("customize") };
}

interface GivenRule {
  readonly apiVersion: string;
  readonly resource: string;
  readonly updateStrategy?:
    | {
        readonly method?: UpdateMethod | undefined;
        readonly statusChecks?: { readonly conditions?: readonly ConditionCheck[] | undefined } | undefined;
      }
    | undefined;
}

export async function rulesOf(
  given: readonly GivenRule[],
  discover: Discover,
  what: string,
): Promise<ChildRule[]> {
  const rules: ChildRule[] = [];
  for (const [index, { apiVersion, resource, updateStrategy }] of given.entries()) {
    const kind = await kindOf(discover, apiVersion, resource, what);
    rules.push({
      watch: `child-${index}`,
      kind,
      method: updateStrategy?.method ?? "OnDelete",
      checks: updateStrategy?.statusChecks?.conditions ?? [],
    });
  }
  const twice = rules.find(
    ({ kind }, index) => rules.findIndex((each) => groupKind(each.kind) === groupKind(kind)) !== index,
  );
  if (!twice) return rules;
  throw new HookError("InvalidDefinition", `${what} names ${groupKind(twice.kind)} twice among its children`);
}

export async function kindOf(
  discover: Discover,
  apiVersion: string,
  resource: string,
  what: string,
): Promise<AnyKind> {
  try {
    return await discover(apiVersion, resource);
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "KindUnknown") throw cause;
    throw new HookError(
      "InvalidDefinition",
      `${what} names ${resource} of ${apiVersion}, which the cluster does not serve; install what provides it, or ` +
        "correct the name",
      { cause },
    );
  }
}

/** Watches of the children; a change leads to the parent that controls the object. */
export function childWatches(
  rules: readonly ChildRule[],
  parentKind: AnyKind,
  orphanKeys: (object: Stored, parents: readonly Stored[]) => Iterable<string>,
): Record<string, RawWatch> {
  return Object.fromEntries(
    rules.map(({ watch: name, kind }) => [
      name,
      watch(kind, {
        applies: true,
        indexes: claimIndexes,
        keys: (change, caches) => {
          const keys = new Set(controllerKeys(parentKind, change as Change));
          const { object } = change as Change;
          const isOrphan = !object.metadata.ownerReferences?.some(({ controller }) => controller);
          if (isOrphan && object.metadata.labels && object.metadata.deletionTimestamp === undefined) {
            const namespace = parentKind.scope === "Namespaced" ? object.metadata.namespace : undefined;
            const parents = caches["parent"]?.list(namespace) ?? [];
            for (const key of orphanKeys(object, parents as readonly Stored[])) keys.add(key);
          }
          return keys;
        },
      }),
    ]),
  );
}

function* controllerKeys(parentKind: AnyKind, { object, previous }: Change): Iterable<string> {
  for (const each of [object, previous]) {
    const by = each?.metadata.ownerReferences?.find(({ controller }) => controller);
    if (!by || by.kind !== parentKind.kind || parseApiVersion(by.apiVersion).group !== parentKind.group)
      continue;
    const namespace = parentKind.scope === "Namespaced" ? each?.metadata.namespace : undefined;
    yield keyOf({ namespace, name: by.name });
  }
}

/** The watch of the parents, which comes first. */
export function parentWatch(kind: AnyKind, ignoreStatusChanges: boolean): RawWatch {
  if (!ignoreStatusChanges) return watch(kind);
  return watch(kind, { keys: (change) => (onlyStatus(change as Change) ? [] : [change.key]) });
}

function onlyStatus({ type, object, previous }: Change): boolean {
  if (type !== "modified" || !previous || object.metadata.deletionTimestamp !== undefined) return false;
  const [now, before] = [object.metadata, previous.metadata];
  return (
    now.generation !== undefined &&
    now.generation === before.generation &&
    deepEqual(now.labels, before.labels) &&
    deepEqual(now.annotations, before.annotations)
  );
}

/** Everything that a definition's controller may do beyond reading what it watches. */
export async function grantsOf(
  definition: HookDefinition,
  parts: { readonly parent: AnyKind; readonly rules: readonly ChildRule[]; readonly hooks: Hooks },
  discover: Discover,
): Promise<Grant[]> {
  const { parent, rules, hooks } = parts;
  const grants: Grant[] = [
    allow(parent, ["patch"]),
    allowSubresource(parent, "status", ["update"]),
    allowSubresource(parent, "finalizers", ["update"]),
    ...rules.map(({ kind }) => allow(kind, ["create", "patch", "delete"])),
  ];
  const clients = Object.values(hooks).filter((hook): hook is HookClient => hook !== undefined);
  for (const kind of [Secret, ConfigMap]) {
    const names = clients.flatMap(({ reads }) => reads.filter((each) => each.kind === kind));
    if (names.length > 0) {
      grants.push(allow(kind, ["get"], { names: [...new Set(names.map(({ name }) => name))] }));
    }
  }
  if (clients.some(({ forwards }) => forwards)) {
    grants.push(
      allow(Service, ["get"]),
      allow(Pod, ["list"]),
      allowSubresource(Pod, "portforward", ["create"]),
    );
  }
  const related = definition.metadata.annotations?.[relatedAnnotation] ?? "";
  for (const each of related.split(",").flatMap((text) => (text.trim() === "" ? [] : [text.trim()]))) {
    const slash = each.lastIndexOf("/");
    const kind = await kindOf(
      discover,
      each.slice(0, slash),
      each.slice(slash + 1),
      definition.metadata.name,
    );
    grants.push(allow(kind, ["get", "list", "watch"]));
  }
  return grants;
}

/** The definition as requests carry it. */
export function definitionJson(definition: HookDefinition): JsonObject {
  return definition as unknown as JsonObject;
}

/** Says what went wrong on the object itself, and lets the queue try again. */
export async function reporting(ctx: RawContext, parent: Stored, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const busy = error instanceof HookError && error.code === "HookBusy";
    if (!busy && !ctx.signal.aborted) {
      ctx.event(parent, "Warning", "SyncError", `Sync error: ${(error as Error).message}`);
    }
    throw error;
  }
}
