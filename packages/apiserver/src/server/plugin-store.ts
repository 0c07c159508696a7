/** The server as its plug-ins see it. */
import { deepCopy, formatTime } from "@keelson/core";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import { notFound } from "../contracts/status-error.ts";
import type { StoreListener, StoreWriter } from "../contracts/store.ts";
import type { StrategyContext } from "../contracts/strategy.ts";
import { type ApiResource, keyFor } from "../registry/api-resource.ts";
import type { Registry } from "../registry/registry.ts";
import type { World } from "../rest/exchange.ts";
import { FieldManager } from "../rest/field-manager.ts";
import { type ObjectStore, tableOf } from "../rest/object-store.ts";
import type { Store } from "../storage/store.ts";

/** The server itself, as the author of what it keeps. */
const self: UserInfo = { name: "system:apiserver", groups: ["system:masters"] };

/** Made before the registry, because strategies are asked for while the registry is built. */
export class PluginStore implements StoreWriter {
  readonly #store: Store;
  #late: { registry: Registry; objects: ObjectStore; world: World } | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  connect(late: { registry: Registry; objects: ObjectStore; world: World }): void {
    this.#late = late;
  }

  get revision(): number {
    return this.#store.revision;
  }

  get({ group, resource }: { group: string; resource: string }, namespace: string, name: string) {
    const found = this.#registry.get(group, resource);
    return found?.table?.get(keyFor(found, namespace, name));
  }

  list({ group, resource }: { group: string; resource: string }, namespace = "") {
    const found = this.#registry.get(group, resource);
    if (!found?.table || found.table.size === 0) return [];
    return found.table.range(found.namespaced && namespace ? `${namespace}/` : "");
  }

  subscribe({ group, resource }: { group: string; resource: string }, listener: StoreListener): () => void {
    const table = this.#store.table(group ? `${group}/${resource}` : resource);
    return table.subscribe(({ type, object, previous }) => {
      if (type === "DELETED") listener({ ...(previous && { previous }) });
      else listener({ object, ...(previous && { previous }) });
    });
  }

  async create({ group, resource }: { group: string; resource: string }, object: ApiObject) {
    const found = this.#resource(group, resource);
    const version = found.storageVersion.slice(found.storageVersion.indexOf("/") + 1);
    const draft = found.type.decode(object, version, []);
    found.type.default(draft, version);
    return this.#parts.objects.create({
      resource: found,
      draft,
      context: this.#context(draft.metadata.namespace ?? "", version),
      warn: () => {},
      validate: async () => {},
    });
  }

  /** Stores an object that is complete but for its identity: what the server begins with. */
  seed(resource: ApiResource, object: ApiObject): void {
    const { world } = this.#parts;
    const { metadata } = object;
    const draft: ApiObject = {
      ...object,
      metadata: {
        ...metadata,
        uid: world.random.uuid(),
        creationTimestamp: formatTime(world.clock.now()),
        ...(resource.strategy.generation === "spec" && { generation: 1 }),
      },
    };
    this.#store.create(tableOf(resource), keyFor(resource, metadata.namespace ?? "", metadata.name), draft);
  }

  async update(
    { group, resource }: { group: string; resource: string },
    namespace: string,
    name: string,
    change: (draft: ApiObject) => ApiObject | undefined,
  ): Promise<ApiObject | undefined> {
    const found = this.#resource(group, resource);
    const table = tableOf(found);
    const key = keyFor(found, namespace, name);
    const base = table.get(key);
    if (!base) return undefined;
    const changed = change(deepCopy(base));
    if (!changed) return base;
    const version = found.storageVersion.slice(found.storageVersion.indexOf("/") + 1);
    const write = { resource: found, version, subresource: "status", manager: "kube-apiserver" };
    const owned = new FieldManager(this.#parts.world.clock).update(write, base, changed);
    // Synchronous from read to commit: nobody can come between.
    return this.#store.update(table, key, owned, base);
  }

  #context(namespace: string, version: string): StrategyContext {
    const { world } = this.#parts;
    return {
      user: self,
      clock: world.clock,
      random: world.random,
      store: this,
      version,
      namespace,
      dryRun: false,
    };
  }

  #resource(group: string, resource: string): ApiResource {
    const found = this.#registry.get(group, resource);
    if (!found) throw notFound({ group, resource }, "");
    return found;
  }

  get #registry(): Registry {
    return this.#parts.registry;
  }

  get #parts() {
    if (!this.#late) throw new Error("the store is not connected yet: read it when asked, not when made");
    return this.#late;
  }
}
