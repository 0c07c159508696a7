/** Shares informers: controllers that follow the same part of the same kind have one watch and one cache. */
import { type Client, ReceivedObject } from "@keelson/client";
import { type AnyKind, apiVersionOf, type Clock, objectKey, type Stored } from "@keelson/core";
import type { Logger } from "../log/logger.ts";
import { type CacheScope, Informer } from "./informer.ts";

/** Informers shared by all controllers of an operator: one for each kind and scope. */
export class InformerSet {
  readonly #options: { client: Client; clock: Clock; log?: Logger };
  readonly #informers = new Map<string, Informer>();
  /** What `ofKind` found. Every write asks twice, and informers seldom come or go. */
  #ofKind = new WeakMap<AnyKind, readonly Informer[]>();
  readonly #lost = Promise.withResolvers<Error>();

  constructor(options: { client: Client; clock: Clock; log?: Logger }) {
    this.#options = options;
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
    if (existing) return existing as unknown as Informer<K>;
    const informer = new Informer({
      ...this.#options,
      kind,
      scope,
      onLost: this.#lost.resolve,
      ...(fieldManager === undefined ? {} : { fieldManager }),
    });
    this.#informers.set(id, informer as unknown as Informer);
    this.#ofKind = new WeakMap();
    return informer;
  }

  /** Stops those that are not among these. */
  async keep(used: ReadonlySet<Informer>): Promise<void> {
    const unused = [...this.#informers].filter(([, informer]) => !used.has(informer));
    for (const [id] of unused) this.#informers.delete(id);
    this.#ofKind = new WeakMap();
    await Promise.all(unused.map(([, informer]) => informer.stop()));
  }

  /** Forgets one that cannot follow its kind any more; the next who asks gets a new one. */
  async discard(informer: Informer): Promise<void> {
    for (const [id, each] of this.#informers) if (each === informer) this.#informers.delete(id);
    this.#ofKind = new WeakMap();
    await informer.stop();
  }

  /** Resolves when a cache that was complete cannot follow its kind any more: who decides by it decides by the past. */
  get lost(): Promise<Error> {
    return this.#lost.promise;
  }

  all(): readonly Informer[] {
    return [...this.#informers.values()];
  }

  /** Every informer whose cache may hold objects of this kind. */
  ofKind(kind: AnyKind): readonly Informer[] {
    let found = this.#ofKind.get(kind);
    if (!found) {
      found = this.all().filter(
        (informer) => informer.kind.group === kind.group && informer.kind.kind === kind.kind,
      );
      this.#ofKind.set(kind, found);
    }
    return found;
  }

  /** Whether a cache of the kind serves what is written of it. */
  serves(kind: AnyKind): boolean {
    return this.ofKind(kind).some(({ kind: { version }, scope }) => {
      return version === kind.version && !scope.metadataOnly;
    });
  }

  /** Tells every cache of the kind what a write returned. */
  wrote<T extends Stored>(kind: AnyKind, answer: T | ReceivedObject): T {
    const object = answer instanceof ReceivedObject ? (answer.object as T) : answer;
    let served: T | undefined;
    for (const informer of this.ofKind(kind)) {
      if (informer.scope.metadataOnly) {
        const { apiVersion, kind: name, metadata } = object;
        informer.cache.wrote({ apiVersion, kind: name, metadata });
      } else if (informer.kind.version === kind.version) {
        served = informer.cache.wrote(answer as never) as unknown as T;
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
