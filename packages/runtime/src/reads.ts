/** What a controller reads beside its children: lookups for its reconcile, and the way back from a change. */
import {
  deepFreeze,
  groupKind,
  keyOf,
  labelSelectorFromLabels,
  matchesLabels,
  type ObjectRef,
  objectKey,
  type Stored,
} from "@keelson/core";
import type { Cause } from "./context.ts";
import type { Controller } from "./controller.ts";
import type { Read, Selection } from "./declaration.ts";
import type { Change, Informer } from "./informer.ts";
import type { LoopWatch, Trigger } from "./loop.ts";
import type { Services } from "./services.ts";

type AnyRead = Read<Stored>;

export class ReadSet {
  readonly #controller: Controller;
  readonly #primary: Informer;
  readonly #informers = new Map<string, Informer>();

  constructor(controller: Controller, primary: Informer, services: Services) {
    this.#controller = controller;
    this.#primary = primary;
    for (const [slot, read] of this.#entries()) {
      const labels = read.role === "all" ? read.labels : undefined;
      const scope = {
        ...(labels === undefined ? {} : { labels }),
        ...(services.namespace !== undefined && read.kind.scope === "Namespaced"
          ? { namespace: services.namespace }
          : {}),
      };
      this.#informers.set(slot, services.informers.for(read.kind, scope) as unknown as Informer);
      if (read.role !== "all")
        primary.cache.addIndex(this.#index(slot), (object) => this.#anchors(read, object));
    }
  }

  get informers(): readonly Informer[] {
    return [...this.#informers.values()];
  }

  /** The declared reads of one object, each looked up when it is asked for. */
  of(primary: () => Stored): Readonly<Record<string, unknown>> {
    const out = {};
    for (const [slot, read] of this.#entries()) {
      Object.defineProperty(out, slot, { enumerable: true, get: () => this.#lookUp(slot, read, primary()) });
    }
    return out;
  }

  /** Watches that lead from a change back to the objects that read it. */
  watches(): LoopWatch[] {
    return this.#entries().map(([slot, read]) => ({
      informer: this.#informers.get(slot) as Informer,
      map: (change) => this.#readers(slot, read, change),
    }));
  }

  #entries(): [string, AnyRead][] {
    return Object.entries(this.#controller.reads) as unknown as [string, AnyRead][];
  }

  #index(slot: string): string {
    return `${this.#controller.name}/reads/${slot}`;
  }

  #lookUp(slot: string, read: AnyRead, primary: Stored): unknown {
    const { cache } = this.#informers.get(slot) as Informer;
    switch (read.role) {
      case "ref": {
        const key = refKey(read, primary);
        return key === undefined ? undefined : cache.get(key);
      }
      case "select": {
        const selection = read.select(primary);
        if (!selection) return [];
        const namespace = selection.namespace ?? primary.metadata.namespace;
        const selector = labelSelectorFromLabels(selection.labels);
        return sorted(
          cache.list(namespace).filter(({ metadata }) => matchesLabels(selector, metadata.labels)),
        );
      }
      case "all":
        return sorted(cache.list());
    }
  }

  /** Under what a primary is found when something it reads changes. */
  #anchors(read: AnyRead, primary: Stored): readonly string[] {
    deepFreeze(primary);
    if (read.role === "ref") {
      const key = refKey(read, primary);
      return key === undefined ? [] : [key];
    }
    if (read.role === "select") {
      const selection = read.select(primary);
      return selection ? [selectionAnchor(selection, primary)] : [];
    }
    return [];
  }

  *#readers(slot: string, read: AnyRead, change: Change): Iterable<Trigger> {
    const cause: Cause = {
      type: "read",
      kind: groupKind(read.kind),
      key: change.key,
      resourceVersion: change.resourceVersion,
    };
    const { cache } = this.#primary;
    if (read.role === "all") {
      for (const key of cache.keys()) yield { key, cause };
      return;
    }
    const anchors = new Set<string>();
    if (read.role === "ref") {
      anchors.add(change.key);
    } else {
      for (const object of [change.object, change.previous]) {
        if (object) for (const anchor of labelAnchors(object)) anchors.add(anchor);
      }
    }
    for (const anchor of anchors) {
      for (const key of cache.keysByIndex(this.#index(slot), anchor)) yield { key, cause };
    }
  }
}

function refKey(
  read: { ref: (primary: Stored) => ObjectRef | undefined; kind: { scope: string } },
  primary: Stored,
) {
  const ref = read.ref(primary);
  if (!ref) return undefined;
  return read.kind.scope === "Cluster"
    ? ref.name
    : keyOf({ namespace: ref.namespace ?? primary.metadata.namespace, name: ref.name });
}

/** One label of a selection stands for all of them: what does not carry it cannot match. */
function selectionAnchor(selection: Selection, primary: Stored): string {
  const namespace = selection.namespace ?? primary.metadata.namespace ?? "";
  const first = Object.entries(selection.labels).sort(([a], [b]) => (a < b ? -1 : 1))[0];
  return first ? `${namespace}|${first[0]}=${first[1]}` : `${namespace}|`;
}

function labelAnchors(object: Stored): string[] {
  const namespace = object.metadata.namespace ?? "";
  const labels = Object.entries(object.metadata.labels ?? {});
  return [`${namespace}|`, ...labels.map(([key, value]) => `${namespace}|${key}=${value}`)];
}

function sorted(objects: readonly Stored[]): readonly Stored[] {
  return [...objects].sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1));
}
