/** A client whose writes the caches see at once, and whose lost answers they treat as doubt. */
import {
  ApiError,
  type Client,
  ClientError,
  type DeleteOptions,
  isOutcomeUnknown,
  type KindClient,
  ReceivedObject,
  type SubresourceClient,
} from "@keelson/client";
import { type ReceivingClient, receivingKind } from "@keelson/client/internal";
import {
  type AnyKind,
  type KubeObject,
  keyOf,
  matchesLabels,
  type ObjectOf,
  type ObjectRef,
  objectKey,
  parseLabelSelector,
  type Stored,
} from "@keelson/core";
import type { InformerSet } from "./informer-set.ts";

export interface TrackedClientOptions {
  readonly client: Client;
  readonly informers: InformerSet;
  /** Throws when nothing may be sent any more. */
  readonly check?: () => void;
  /** Hears of every write that is about to be sent. */
  readonly onWrite?: (verb: string, kind: AnyKind, ref: ObjectRef) => void;
}

type Answer<K extends AnyKind> = (ObjectOf<K> & Stored) | ReceivedObject;

/** Whether a failed write may have happened. An abort is one of the ways in which an answer is lost. */
export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof ApiError) return isOutcomeUnknown(error);
  if (error instanceof ClientError)
    return error.code !== "ConnectionFailed" && error.code !== "InvalidRequest";
  return true;
}

/** Whether the server still holds an object that a delete returned. */
function lingers(object: Stored): boolean {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionTimestamp === undefined) return false;
  // A namespace has finalizers of its own, which its contents keep there.
  const { spec } = object as { spec?: { finalizers?: readonly string[] } };
  const held = object.kind === "Namespace" ? (spec?.finalizers ?? []) : [];
  return finalizers.length > 0 || held.length > 0 || deletionGracePeriodSeconds > 0;
}

export class TrackedClient {
  readonly #options: TrackedClientOptions;
  /** A reconcile asks for each kind that it writes; the verbs of one hold nothing that differs from run to run. */
  readonly #kinds = new WeakMap<AnyKind, KindClient<AnyKind>>();

  constructor(options: TrackedClientOptions) {
    this.#options = options;
  }

  get client(): Client {
    return this.#options.client;
  }

  kind<K extends AnyKind>(kind: K): KindClient<K> {
    const known = this.#kinds.get(kind);
    if (known) return known as unknown as KindClient<K>;
    const verbs = new TrackedKind(kind, this.#options);
    this.#kinds.set(kind, verbs as unknown as KindClient<AnyKind>);
    return verbs;
  }
}

class TrackedKind<K extends AnyKind> implements KindClient<K> {
  readonly watch: KindClient<K>["watch"];
  readonly reflect: KindClient<K>["reflect"];
  readonly #kind: K;
  readonly #verbs: KindClient<K>;
  /** For what goes into a cache. */
  #receiving: ReceivingClient<K> | undefined;
  readonly #options: TrackedClientOptions;

  constructor(kind: K, options: TrackedClientOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#verbs = options.client.kind(kind);
    this.watch = this.#verbs.watch.bind(this.#verbs) as KindClient<K>["watch"];
    this.reflect = this.#verbs.reflect.bind(this.#verbs) as KindClient<K>["reflect"];
  }

  /** The verbs whose answers the caches take; those of objects as they are where no cache would show them. */
  get #caching(): ReceivingClient<K> | KindClient<K> {
    const { client, informers } = this.#options;
    if (!informers.serves(this.#kind)) return this.#verbs;
    this.#receiving ??= receivingKind(client, this.#kind);
    return this.#receiving;
  }

  get: KindClient<K>["get"] = (ref, options) => this.#took(this.#caching.get(ref, options));

  find: KindClient<K>["find"] = async (ref, options) => {
    const known = this.#known(keyOf(ref));
    const object = await this.#caching.find(ref, options);
    if (object) return this.#options.informers.wrote(this.#kind, object as Answer<K>);
    for (const [informer, uid] of known) informer.cache.gone(keyOf(ref), uid);
    return undefined;
  };

  list: KindClient<K>["list"] = (options) => this.#verbs.list(options);

  each: KindClient<K>["each"] = (options) => this.#verbs.each(options);

  create: KindClient<K>["create"] = (object, options) =>
    this.#write("create", refOf(object), () => {
      if (options?.dryRun) return this.#verbs.create(object, options);
      return this.#took(this.#caching.create(object, options));
    });

  update: KindClient<K>["update"] = (object, options) =>
    this.#write("update", refOf(object), () => {
      if (options?.dryRun) return this.#verbs.update(object, options);
      return this.#changed(this.#caching.update(object, options));
    });

  patch: KindClient<K>["patch"] = (ref, patch, options) =>
    this.#write("patch", ref, () => {
      if (options?.dryRun) return this.#verbs.patch(ref, patch, options);
      return this.#changed(this.#caching.patch(ref, patch, options));
    });

  apply: KindClient<K>["apply"] = (object, options) =>
    this.#write("apply", refOf(object), () => {
      if (options?.dryRun) return this.#verbs.apply(object, options);
      return this.#changed(this.#caching.apply(object, options));
    });

  delete: KindClient<K>["delete"] = (ref, options) =>
    this.#write("delete", ref, () => this.#delete(ref, options));

  deleteAll: KindClient<K>["deleteAll"] = async (options) => {
    this.#options.check?.();
    this.#options.onWrite?.("deleteAll", this.#kind, { name: "" });
    try {
      await this.#verbs.deleteAll(options);
    } finally {
      if (!options.dryRun) this.#doubtAll(options);
    }
  };

  subresource: KindClient<K>["subresource"] = (name) => {
    const sub = this.#verbs.subresource(name);
    const write = <T>(verb: string, ref: ObjectRef, send: () => Promise<T>) => this.#write(verb, ref, send);
    // Only the status subresource answers with the whole object.
    if (name === "status") return this.#status(sub, write);
    return {
      get: (ref, options) => sub.get(ref, options),
      create: (ref, body, options) => write("create", ref, () => sub.create(ref, body, options)),
      update: (object, options) => write("update", refOf(object), () => sub.update(object, options)),
      patch: (ref, patch, options) => write("patch", ref, () => sub.patch(ref, patch, options)),
      apply: (object, options) => write("apply", refOf(object), () => sub.apply(object, options)),
    };
  };

  #status(
    sub: SubresourceClient<K>,
    write: <T>(verb: string, ref: ObjectRef, send: () => Promise<T>) => Promise<T>,
  ): SubresourceClient<K> {
    const caching = () => this.#caching.subresource("status");
    return {
      get: (ref, options) => sub.get(ref, options),
      create: (ref, body, options) => write("create", ref, () => sub.create(ref, body, options)),
      update: (object, options) =>
        write("update", refOf(object), () => this.#took(caching().update(object, options))),
      patch: (ref, patch, options) =>
        write("patch", ref, () => this.#took(caching().patch(ref, patch, options))),
      apply: (object, options) =>
        write("apply", refOf(object), () => this.#took(caching().apply(object, options))),
    };
  }

  async #write<T>(verb: string, ref: ObjectRef, send: () => Promise<T>): Promise<T> {
    this.#options.check?.();
    this.#options.onWrite?.(verb, this.#kind, ref);
    try {
      return await send();
    } catch (error) {
      if (ref.name !== "" && mayHaveHappened(error)) await this.#resolve(keyOf(ref));
      throw error;
    }
  }

  async #took(answer: Promise<ObjectOf<K> | ReceivedObject>): Promise<ObjectOf<K>> {
    return this.#options.informers.wrote(this.#kind, (await answer) as Answer<K>);
  }

  /** Taking the last finalizer off an object that is being deleted ends it; the answer shows it as it was. */
  async #changed(answer: Promise<ObjectOf<K> | ReceivedObject>): Promise<ObjectOf<K>> {
    const { informers } = this.#options;
    const received = (await answer) as Answer<K>;
    const object = (received instanceof ReceivedObject ? received.object : received) as ObjectOf<K> & Stored;
    const { deletionTimestamp, uid } = object.metadata;
    if (deletionTimestamp === undefined || lingers(object)) return informers.wrote(this.#kind, received);
    informers.gone(this.#kind, objectKey(object), uid);
    return object;
  }

  async #delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<ObjectOf<K> | undefined> {
    const key = keyOf(ref);
    const known = this.#known(key);
    const object = await this.#verbs.delete(ref, options);
    if (options.dryRun) return object;
    if (object && lingers(object as ObjectOf<K> & Stored)) {
      return this.#options.informers.wrote(this.#kind, object as ObjectOf<K> & Stored);
    }
    for (const [informer, uid] of known) informer.cache.gone(key, options.uid ?? uid);
    return object;
  }

  /** What the caches hold under a key before a request is sent. */
  #known(key: string) {
    return this.#options.informers
      .ofKind(this.#kind)
      .map((informer) => [informer, informer.cache.uidOf(key)] as const);
  }

  /** Asks the server at once what became of a write; when it cannot be asked, the object stays in doubt. */
  async #resolve(key: string): Promise<void> {
    const { informers } = this.#options;
    informers.doubt(this.#kind, key);
    try {
      await Promise.all(informers.ofKind(this.#kind).map((informer) => informer.settle()));
    } catch {
      // The next run settles it before it decides anything.
    }
  }

  #doubtAll(options: { namespace?: string; labels?: string }): void {
    const selector = options.labels === undefined ? undefined : parseLabelSelector(options.labels);
    for (const informer of this.#options.informers.ofKind(this.#kind)) {
      for (const key of [...informer.cache.keys()]) {
        if (options.namespace !== undefined && !key.startsWith(`${options.namespace}/`)) continue;
        if (informer.cache.doubted.has(key)) continue;
        const labels = informer.cache.get(key)?.metadata.labels;
        if (selector === undefined || matchesLabels(selector, labels)) informer.cache.doubt(key);
      }
    }
  }
}

function refOf(object: KubeObject): ObjectRef {
  return { namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" };
}
