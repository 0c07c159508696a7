/** Shares informers: controllers that follow the same part of the same kind have one watch and one cache. */
import type { Client } from "@keelson/client";
import { type AnyKind, apiVersionOf, type Clock, objectKey, type Stored } from "@keelson/core";
import type { Logger } from "../log/logger.ts";
import { type CacheScope, Informer } from "./informer.ts";

/** Informers shared by all controllers of an operator: one for each kind and scope. */
export class InformerSet {
  readonly #options: { client: Client; clock: Clock; log?: Logger };
  readonly #informers: Map<string, Informer>;
  /** Who asked for each: one of these sets. */
  readonly #holders: Map<string, Set<InformerSet>>;

  constructor(options: { client: Client; clock: Clock; log?: Logger }, shared?: InformerSet) {
    this.#options = options;
    this.#informers = shared ? shared.#informers : new Map();
    this.#holders = shared ? shared.#holders : new Map();
  }

  /** Shares everything with this set. What is asked for through it is stopped with it, unless another asked too. */
  branch(): InformerSet {
    return new InformerSet(this.#options, this);
  }

  /** Stops what was asked for through this set alone. */
  async release(): Promise<void> {
    const unused: Informer[] = [];
    for (const [id, holders] of this.#holders) {
      if (!holders.delete(this) || holders.size > 0) continue;
      this.#holders.delete(id);
      unused.push(this.#informers.get(id) as Informer);
      this.#informers.delete(id);
    }
    await Promise.all(unused.map((informer) => informer.stop()));
  }

  /** Forgets an informer that cannot follow its kind any more; the next who asks gets a new one. */
  async discard(informer: Informer): Promise<void> {
    for (const [id, each] of this.#informers) {
      if (each !== informer) continue;
      this.#informers.delete(id);
      this.#holders.delete(id);
    }
    await informer.stop();
  }

  /** The informer for this part of the kind; made on the first call. */
  for<K extends AnyKind>(kind: K, scope: CacheScope = {}, fieldManager?: string): Informer<K> {
    const id = JSON.stringify([
      apiVersionOf(kind),
      kind.resource,
      scope.namespace,
      scope.labels,
      scope.fields,
      scope.metadataOnly ?? false,
      fieldManager,
    ]);
    const existing = this.#informers.get(id);
    const holders = this.#holders.get(id) ?? new Set<InformerSet>();
    this.#holders.set(id, holders.add(this));
    if (existing) return existing as unknown as Informer<K>;
    const informer = new Informer({
      ...this.#options,
      kind,
      scope,
      ...(fieldManager === undefined ? {} : { fieldManager }),
    });
    this.#informers.set(id, informer as unknown as Informer);
    return informer;
  }

  all(): readonly Informer[] {
    return [...this.#informers.values()];
  }

  /** Every informer whose cache may hold objects of this kind. */
  ofKind(kind: AnyKind): readonly Informer[] {
    return this.all().filter(
      (informer) => informer.kind.group === kind.group && informer.kind.kind === kind.kind,
    );
  }

  /** Tells every cache of the kind what a write returned. */
  wrote<T extends Stored>(kind: AnyKind, object: T): T {
    let served: T | undefined;
    for (const informer of this.ofKind(kind)) {
      if (informer.scope.metadataOnly) {
        const { apiVersion, kind: name, metadata } = object;
        informer.cache.wrote({ apiVersion, kind: name, metadata });
      } else if (informer.kind.version === kind.version) {
        served = informer.cache.wrote(object as never) as unknown as T;
      } else {
        // The answer speaks another version than the cache: only a read in its own tells what it should show.
        informer.cache.doubt(objectKey(object));
      }
    }
    return served ?? object;
  }

  gone(kind: AnyKind, key: string, uid: string | undefined): void {
    for (const informer of this.ofKind(kind)) informer.cache.gone(key, uid);
  }

  doubt(kind: AnyKind, key: string): void {
    for (const informer of this.ofKind(kind)) informer.cache.doubt(key);
  }

  start(): void {
    for (const informer of this.#informers.values()) informer.start();
  }

  async whenSynced(): Promise<void> {
    await Promise.all(this.all().map((informer) => informer.whenSynced()));
  }

  get synced(): boolean {
    return this.all().every((informer) => informer.synced);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all().map((informer) => informer.stop()));
  }
}
