/** Keeps what is served in step with the definitions: names, conditions, and the end of both. */
import { type Clock, deepCopy, deepEqual, formatTime, type JsonObject, type Random } from "@keelson/core";
import { CustomApiServices } from "../bootstrap/api-services.ts";
import type { ApiObject } from "../contracts/object.ts";
import { foregroundFinalizer, orphanFinalizer } from "../registry/metadata.ts";
import type { Registry } from "../registry/registry.ts";
import { FieldManager } from "../rest/field-manager.ts";
import type { Store } from "../storage/store.ts";
import type { StoreEvent, Table } from "../storage/table.ts";
import { converterFor, type WebhookCaller } from "./conversion.ts";
import { customResource } from "./custom-resource.ts";
import { type Definition, type DefinitionNames, readDefinition } from "./definition.ts";
import { cleanupFinalizer, withCondition } from "./definition-strategy.ts";
import { hasCondition, isEstablished } from "./validate-definition.ts";

export class DefinitionController {
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #call: WebhookCaller;
  readonly #fields: FieldManager;
  readonly #table: Table;
  readonly #services: CustomApiServices;
  /** Definitions to look at again, by key; empty means idle. */
  readonly #queue = new Set<string>();
  /** Groups of definitions that went since. */
  readonly #gone = new Set<string>();
  /** Watches over the instances of terminating definitions. */
  readonly #emptying = new Map<string, () => void>();

  constructor(parts: {
    store: Store;
    registry: Registry;
    clock: Clock;
    random: Random;
    call: WebhookCaller;
  }) {
    this.#store = parts.store;
    this.#registry = parts.registry;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#call = parts.call;
    this.#fields = new FieldManager(parts.clock);
    this.#table = parts.store.table("apiextensions.k8s.io/customresourcedefinitions");
    this.#services = new CustomApiServices(parts);
  }

  /** Serves what is established already, and follows every change from now on. */
  start(): void {
    for (const object of this.#table.range("")) this.#settle(object.metadata.name);
    this.#table.subscribe((event) => this.#changed(event));
  }

  /** Goes on with what is not done, as after writes that could not be kept. */
  resume(): void {
    for (const object of this.#table.range("")) {
      const { name, deletionTimestamp } = object.metadata;
      const isDone = isEstablished(object) && !deletionTimestamp && this.#acceptNames(object) === object;
      if (isDone) {
        this.#services.settle(readDefinition(object).group);
        continue;
      }
      this.#emptying.get(name)?.();
      this.#emptying.delete(name);
      this.#settle(name);
    }
  }

  /**
   * Not within the commit that reports it: the change must reach all watchers before the change that
   * answers it.
   */
  #changed(event: StoreEvent): void {
    if (event.type === "DELETED") this.#withdraw(event.object);
    if (this.#queue.size === 0) queueMicrotask(() => this.#work());
    this.#queue.add(event.key);
    // Names that became free may be what another definition waits for.
    if (event.type === "DELETED")
      for (const other of this.#table.range(""))
        if (!hasCondition(other, "NamesAccepted")) this.#queue.add(other.metadata.name);
  }

  #work(): void {
    const names = [...this.#queue];
    this.#queue.clear();
    for (const name of names) this.#settle(name);
    for (const group of this.#gone) this.#services.settle(group);
    this.#gone.clear();
  }

  #settle(name: string): void {
    const object = this.#table.get(name);
    if (!object) return;
    const named = this.#acceptNames(object);
    if (named !== object) {
      // Comes back here through its own event.
      this.#write(named, object);
      return;
    }
    if (isEstablished(object)) this.#serve(object);
    if (object.metadata.deletionTimestamp) this.#terminate(object);
  }

  #acceptNames(object: ApiObject): ApiObject {
    const definition = readDefinition(object);
    const taken = this.#takenNames(definition);
    const status = (object.status ?? {}) as JsonObject;
    const before = readNames(status.acceptedNames as JsonObject | undefined);
    const { accepted, conflict } = chooseNames(definition.names, before, taken);
    const now = formatTime(this.#clock.now());
    let next: ApiObject = {
      ...object,
      metadata: { ...object.metadata },
      status: { ...status, acceptedNames: namesObject(accepted) },
    };
    next = {
      ...next,
      status: withCondition(
        next,
        conflict
          ? {
              type: "NamesAccepted",
              status: "False",
              lastTransitionTime: now,
              reason: conflict.reason,
              message: conflict.message,
            }
          : {
              type: "NamesAccepted",
              status: "True",
              lastTransitionTime: now,
              reason: "NoConflicts",
              message: "no conflicts found",
            },
      ),
    };
    if (!isEstablished(object)) {
      const condition = conflict
        ? {
            type: "Established",
            status: "False",
            lastTransitionTime: now,
            reason: "NotAccepted",
            message: "not all names are accepted",
          }
        : {
            type: "Established",
            status: "True",
            lastTransitionTime: now,
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
          };
      next = { ...next, status: withCondition(next, condition) };
    }
    return deepEqual(next, object) ? object : deepCopy(next);
  }

  /** Names in use in the group, by others. */
  #takenNames(definition: Definition): { resources: Set<string>; kinds: Set<string> } {
    const resources = new Set<string>();
    const kinds = new Set<string>();
    for (const other of this.#table.range("")) {
      if (other.metadata.name === definition.name) continue;
      if (readDefinition(other).group !== definition.group) continue;
      const names = readNames(
        (other.status as JsonObject | undefined)?.acceptedNames as JsonObject | undefined,
      );
      for (const name of [names.plural, names.singular, ...names.shortNames]) if (name) resources.add(name);
      for (const name of [names.kind, names.listKind]) if (name) kinds.add(name);
    }
    return { resources, kinds };
  }

  #serve(object: ApiObject): void {
    const definition = readDefinition(object);
    const accepted = readNames((object.status as JsonObject).acceptedNames as JsonObject);
    const resource = customResource(
      definition,
      accepted,
      this.#store,
      converterFor(definition, this.#call, this.#random),
      hasCondition(object, "Terminating"),
    );
    this.#registry.put(resource);
    this.#services.settle(definition.group);
  }

  #withdraw(object: ApiObject): void {
    const definition = readDefinition(object);
    this.#registry.remove(definition.group, definition.names.plural);
    this.#gone.add(definition.group);
    this.#emptying.get(definition.name)?.();
    this.#emptying.delete(definition.name);
  }

  /** Deletes the instances; the definition goes when the last of them has gone. */
  #terminate(object: ApiObject): void {
    const { name } = object.metadata;
    if (!object.metadata.finalizers?.includes(cleanupFinalizer)) return;
    const definition = readDefinition(object);
    const resource = this.#registry.get(definition.group, definition.names.plural);
    const table = resource?.table;
    if (table && table.size > 0) {
      if (!this.#emptying.has(name)) {
        this.#emptying.set(
          name,
          table.subscribe(() => {
            if (table.size === 0) queueMicrotask(() => this.#settle(name));
          }),
        );
        this.#progress(object);
        this.#deleteInstances(table);
      }
      if (table.size > 0) return;
    }
    this.#emptying.get(name)?.();
    this.#emptying.delete(name);
    const current = this.#table.get(name);
    if (current) this.#finish(current);
  }

  #progress(object: ApiObject): void {
    const status = withCondition(object, {
      type: "Terminating",
      status: "True",
      lastTransitionTime: formatTime(this.#clock.now()),
      reason: "InstanceDeletionInProgress",
      message: "CustomResource deletion is in progress",
    });
    this.#write({ ...object, metadata: { ...object.metadata }, status: deepCopy(status) }, object);
  }

  /** Stores what the server itself says of a definition, as its own. */
  #write(draft: ApiObject, object: ApiObject): void {
    const { name } = object.metadata;
    const resource = this.#registry.get("apiextensions.k8s.io", "customresourcedefinitions");
    const owned = resource
      ? this.#fields.update(
          { resource, version: "v1", subresource: "status", manager: "kube-apiserver" },
          object,
          draft,
        )
      : draft;
    this.#store.update(this.#table, name, owned, object);
  }

  #deleteInstances(table: Table): void {
    const now = formatTime(this.#clock.now());
    for (const [key, instance] of table.rangeEntries("")) {
      const finalizers = (instance.metadata.finalizers ?? []).filter(
        (finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer,
      );
      if (finalizers.length === 0) this.#store.delete(table, key, instance);
      else if (!instance.metadata.deletionTimestamp)
        this.#store.update(
          table,
          key,
          {
            ...instance,
            metadata: {
              ...instance.metadata,
              deletionTimestamp: now,
              deletionGracePeriodSeconds: 0,
              generation: (instance.metadata.generation ?? 0) + 1,
            },
          },
          instance,
        );
    }
  }

  #finish(object: ApiObject): void {
    const { name, finalizers = [] } = object.metadata;
    const left = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
    if (left.length === 0) {
      this.#store.delete(this.#table, name, object);
      return;
    }
    const status = withCondition(object, {
      type: "Terminating",
      status: "False",
      lastTransitionTime: formatTime(this.#clock.now()),
      reason: "InstanceDeletionCompleted",
      message: "removed all instances",
    });
    const metadata = { ...object.metadata, finalizers: left };
    this.#write({ ...object, metadata, status: deepCopy(status) }, object);
  }
}

function readNames(names: JsonObject | undefined): DefinitionNames {
  const text = (key: string) => String(names?.[key] ?? "");
  return {
    plural: text("plural"),
    singular: text("singular"),
    kind: text("kind"),
    listKind: text("listKind"),
    shortNames: (names?.shortNames as string[] | undefined) ?? [],
    categories: (names?.categories as string[] | undefined) ?? [],
  };
}

function namesObject(names: DefinitionNames): JsonObject {
  return {
    plural: names.plural,
    ...(names.singular && { singular: names.singular }),
    ...(names.shortNames.length > 0 && { shortNames: [...names.shortNames] }),
    kind: names.kind,
    ...(names.listKind && { listKind: names.listKind }),
    ...(names.categories.length > 0 && { categories: [...names.categories] }),
  };
}

/** Requested names, each kept as it was where another definition has the new one. */
function chooseNames(
  requested: DefinitionNames,
  before: DefinitionNames,
  taken: { resources: ReadonlySet<string>; kinds: ReadonlySet<string> },
): { accepted: DefinitionNames; conflict?: { reason: string; message: string } } {
  const conflicts: { reason: string; message: string }[] = [];
  const choose = (field: "plural" | "singular" | "kind" | "listKind", inUse: ReadonlySet<string>) => {
    const wanted = requested[field];
    if (!inUse.has(wanted)) return wanted;
    const reason = `${field[0]?.toUpperCase()}${field.slice(1)}Conflict`;
    conflicts.push({ reason, message: `"${wanted}" is already in use` });
    return before[field];
  };
  const plural = choose("plural", taken.resources);
  const singular = choose("singular", taken.resources);
  const clash = requested.shortNames.filter((name) => taken.resources.has(name));
  if (clash.length > 0)
    conflicts.push({
      reason: "ShortNamesConflict",
      message:
        clash.length === 1
          ? `"${clash[0]}" is already in use`
          : `[${clash.map((name) => `"${name}" is already in use`).join(", ")}]`,
    });
  const kind = choose("kind", taken.kinds);
  const listKind = choose("listKind", taken.kinds);
  const accepted = {
    plural,
    singular,
    shortNames: clash.length > 0 ? before.shortNames : requested.shortNames,
    kind,
    listKind,
    categories: requested.categories,
  };
  const last = conflicts.at(-1);
  return last ? { accepted, conflict: last } : { accepted };
}
