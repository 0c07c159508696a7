/** The resources that are served now: built-in ones for good, custom ones as their definitions come and go. */
import type { ServedResource } from "../contracts/served-resource.ts";
import type { ApiResource, ApiVersion } from "./api-resource.ts";

export interface Served {
  readonly resource: ApiResource;
  readonly version: ApiVersion;
}

type Ender = { readonly version: string; readonly end: () => void };

export class Registry {
  readonly #resources = new Map<string, ApiResource>();
  readonly #kinds = new Map<string, ApiResource>();
  readonly #builtin = new Set<string>();
  /** Running watches by resource key, to be ended when what they watch is gone. */
  readonly #watches = new Map<string, Set<Ender>>();
  #generation = 0;

  constructor(builtin: readonly ApiResource[]) {
    for (const resource of builtin) {
      this.#resources.set(keyOf(resource), resource);
      this.#kinds.set(`${resource.group}/${resource.kind}`, resource);
      this.#builtin.add(resource.group);
    }
  }

  /** Grows with every change: what is derived from the registry is cached by it. */
  get generation(): number {
    return this.#generation;
  }

  all(): IterableIterator<ApiResource> {
    return this.#resources.values();
  }

  find(group: string, version: string, resource: string): Served | undefined {
    const found = this.#resources.get(`${group}/${resource}`);
    const at = found?.versions.get(version);
    return found && at && { resource: found, version: at };
  }

  get(group: string, resource: string): ApiResource | undefined {
    return this.#resources.get(`${group}/${resource}`);
  }

  byKind(group: string, kind: string): ApiResource | undefined {
    return this.#kinds.get(`${group}/${kind}`);
  }

  /** Whether the group is the server's own, whatever custom resources join it. */
  isBuiltinGroup(group: string): boolean {
    return this.#builtin.has(group);
  }

  /** Adds or replaces a custom resource. Watches of versions it no longer serves end. */
  put(resource: ApiResource): void {
    const key = keyOf(resource);
    this.#resources.set(key, resource);
    this.#kinds.set(`${resource.group}/${resource.kind}`, resource);
    this.#generation++;
    for (const watch of this.#watches.get(key) ?? []) if (!resource.versions.has(watch.version)) watch.end();
  }

  remove(group: string, resource: string): void {
    const key = `${group}/${resource}`;
    const gone = this.#resources.get(key);
    if (!gone) return;
    this.#resources.delete(key);
    this.#kinds.delete(`${gone.group}/${gone.kind}`);
    this.#generation++;
    for (const watch of [...(this.#watches.get(key) ?? [])]) watch.end();
  }

  /** Registers a running watch; returns how to take it back. */
  onGone(resource: ApiResource, version: string, end: () => void): () => void {
    const key = keyOf(resource);
    let watches = this.#watches.get(key);
    if (!watches) {
      watches = new Set();
      this.#watches.set(key, watches);
    }
    const ender = { version, end };
    watches.add(ender);
    return () => watches.delete(ender);
  }
}

function keyOf(resource: { group: string; resource: string }): string {
  return `${resource.group}/${resource.resource}`;
}

/** A resource as plug-ins see it. */
export function served(resource: ApiResource): ServedResource {
  return {
    group: resource.group,
    resource: resource.resource,
    kind: resource.kind,
    namespaced: resource.namespaced,
    versions: [...resource.versions.keys()],
    storageVersion: resource.storageVersion,
    custom: resource.custom,
  };
}
