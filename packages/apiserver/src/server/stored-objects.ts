/** The store as tests and simulations in the same process see it: frozen objects, no requests, nobody to ask. */
import type { ApiObject } from "../contracts/object.ts";
import type { Snapshot, Store } from "../storage/store.ts";
import type { StoreEvent } from "../storage/table.ts";

/** Objects in the version that is stored. A resource is named `pods` or `apps/deployments`. */
export interface StoredObjects {
  list(resource: string, namespace?: string): readonly ApiObject[];
  get(resource: string, name: string, namespace?: string): ApiObject | undefined;
  /** Told of every commit, in order, before its writer is answered. It must not write. Returns how to stop. */
  subscribe(resource: string, listener: (event: StoreEvent) => void): () => void;
  /** Everything, to begin another server with. */
  snapshot(): Snapshot;
}

export function storedObjects(store: Store): StoredObjects {
  return {
    list: (resource, namespace = "") => store.table(resource).range(namespace && `${namespace}/`),
    get: (resource, name, namespace = "") =>
      store.table(resource).get(namespace === "" ? name : `${namespace}/${name}`),
    subscribe: (resource, listener) => store.table(resource).subscribe(listener),
    snapshot: () => store.snapshot(),
  };
}
