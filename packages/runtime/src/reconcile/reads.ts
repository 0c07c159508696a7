/** What a controller reads beside its children: lookups for its reconcile, and the way back from a change. */
import { compareResourceVersions } from "@keelson/client";
import {
  deepFreeze,
  groupKind,
  keyOf,
  labelSelectorFromLabels,
  matchesLabels,
  type ObjectRef,
  objectKey,
  parseKey,
  type Stored,
} from "@keelson/core";
import type { Change, Informer } from "../cache/informer.ts";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Cause } from "../controller/context.ts";
import type { Controller } from "../controller/controller.ts";
import type { Read, Selection } from "../controller/declaration.ts";
import type { LoopWatch, Trigger } from "./loop.ts";
import type { Services } from "./services.ts";

type AnyRead = Exclude<Read<Stored>, { role: "poll" }>;

/**
 * Objects that a primary names are followed by their metadata, and only those that are named are read whole: a
 * controller that needs one Secret must not hold every Secret of the cluster. Where the operator keeps the whole kind
 * anyway, its cache serves both.
 */
export class ReadSet {
  readonly #controller: Controller;
  /** What is read in the cluster; polls are looked at by themselves. */
  readonly #entries: readonly [string, AnyRead][];
  readonly #primary: Informer;
  readonly #client: TrackedClient;
  readonly #informers = new Map<string, Informer>();
  /** By slot and key, what was read whole. */
  readonly #loaded = new Map<string, Map<string, Stored>>();

  constructor(controller: Controller, primary: Informer, services: Services, client: TrackedClient) {
    this.#controller = controller;
    this.#primary = primary;
    this.#client = client;
    const all = Object.entries(controller.reads) as unknown as [string, Read<Stored>][];
    this.#entries = all.filter((entry): entry is [string, AnyRead] => entry[1].role !== "poll");
    for (const [slot, read] of this.#entries) {
      const labels = read.role === "all" ? read.labels : undefined;
      const scope = {
        ...(labels === undefined ? {} : { labels }),
        ...(services.namespace !== undefined && read.kind.scope === "Namespaced"
          ? { namespace: services.namespace }
          : {}),
        ...(read.role === "ref" && !services.wholeKinds.has(groupKind(read.kind))
          ? { metadataOnly: true }
          : {}),
      };
      if (scope.metadataOnly) this.#loaded.set(slot, new Map());
      this.#informers.set(slot, services.informers.for(read.kind, scope) as unknown as Informer);
      if (read.role !== "all")
        primary.cache.addIndex(this.#index(slot), (object) => this.#anchors(read, object));
    }
  }

  /** Takes away what it added to caches that others share. */
  release(): void {
    for (const [slot, read] of this.#entries) {
      if (read.role !== "all") this.#primary.cache.removeIndex(this.#index(slot));
    }
  }

  get informers(): readonly Informer[] {
    return [...this.#informers.values()];
  }

  /** Whether anything is to be read whole before a run. */
  get loads(): boolean {
    return this.#loaded.size > 0;
  }

  /** Reads what the object names, as far as it has changed since it was last read. */
  async load(primary: Stored, signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#entries.map(async ([slot, read]) => {
        const loaded = this.#loaded.get(slot);
        const key = loaded && read.role === "ref" ? refKey(read, primary) : undefined;
        if (!loaded || key === undefined) return;
        const seen = this.#seen(slot, key);
        if (!seen || isCurrent(loaded.get(key), seen)) return;
        const object = await this.#client.kind(read.kind).find(parseKey(key), { signal });
        if (object) loaded.set(key, deepFreeze(object as Stored));
        else loaded.delete(key);
      }),
    );
  }

  /**
   * The declared reads of one object, each looked up when it is asked for. What the object names was loaded for the
   * object as it was then: a name that it has got since is for the next run, which that change has called already.
   */
  of(loadedFor: Stored, primary: () => Stored): Readonly<Record<string, unknown>> {
    const out = {};
    for (const [slot, read] of this.#entries) {
      const from = () => (this.#loaded.has(slot) ? loadedFor : primary());
      Object.defineProperty(out, slot, { enumerable: true, get: () => this.#lookUp(slot, read, from()) });
    }
    return out;
  }

  /** Whether anything was read whole. */
  get keeps(): boolean {
    for (const loaded of this.#loaded.values()) if (loaded.size > 0) return true;
    return false;
  }

  /** A primary names something else now, or is gone: what nobody names any more is not kept. */
  released(primary: Stored): void {
    for (const [slot, read] of this.#entries) {
      const loaded = this.#loaded.get(slot);
      if (!loaded || loaded.size === 0 || read.role !== "ref") continue;
      const key = refKey(read, primary);
      if (key === undefined || !loaded.has(key)) continue;
      const [reader] = this.#primary.cache.keysByIndex(this.#index(slot), key);
      if (reader === undefined) loaded.delete(key);
    }
  }

  #seen(slot: string, key: string): Stored | undefined {
    return (this.#informers.get(slot) as Informer).cache.get(key);
  }

  /** Watches that lead from a change back to the objects that read it. */
  watches(): LoopWatch[] {
    return this.#entries.map(([slot, read]) => ({
      informer: this.#informers.get(slot) as Informer,
      map: (change) => this.#readers(slot, read, change),
    }));
  }

  #index(slot: string): string {
    return `${this.#controller.name}/reads/${slot}`;
  }

  #lookUp(slot: string, read: AnyRead, primary: Stored): unknown {
    const { cache } = this.#informers.get(slot) as Informer;
    switch (read.role) {
      case "ref": {
        const key = refKey(read, primary);
        if (key === undefined) return undefined;
        const loaded = this.#loaded.get(slot);
        if (!loaded) return cache.get(key);
        const object = loaded.get(key);
        return object && cache.uidOf(key) === object.metadata.uid ? object : undefined;
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
      if (change.type === "deleted") this.#loaded.get(slot)?.delete(change.key);
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

/** Whether what was read whole is no older than what the watch has shown. */
function isCurrent(loaded: Stored | undefined, seen: Stored): boolean {
  if (!loaded || loaded.metadata.uid !== seen.metadata.uid) return false;
  const { resourceVersion } = seen.metadata;
  const order = compareResourceVersions(loaded.metadata.resourceVersion, resourceVersion);
  return order === undefined ? loaded.metadata.resourceVersion === resourceVersion : order >= 0;
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
