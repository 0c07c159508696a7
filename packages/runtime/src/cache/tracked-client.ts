/** A client whose writes the caches see at once, and whose lost answers they treat as doubt. */
import {
  ApiError,
  type Client,
  ClientError,
  type DeleteOptions,
  isOutcomeUnknown,
  type KindClient,
  type SubresourceClient,
} from "@keelson/client";
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

/** Whether a failed write may have happened. An abort is one of the ways in which an answer is lost. */
export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof ApiError) return isOutcomeUnknown(error);
  if (error instanceof ClientError)
    return error.code !== "ConnectionFailed" && error.code !== "InvalidRequest";
  return true;
}

/** Whether the server still holds an object that a delete returned. */
function lingers(object: Stored): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
  if (deletionTimestamp === undefined) return false;
  return (finalizers?.length ?? 0) > 0 || (deletionGracePeriodSeconds ?? 0) > 0;
}

export class TrackedClient {
  readonly #options: TrackedClientOptions;

  constructor(options: TrackedClientOptions) {
    this.#options = options;
  }

  get client(): Client {
    return this.#options.client;
  }

  kind<K extends AnyKind>(kind: K): KindClient<K> {
    const { client, informers, check, onWrite } = this.#options;
    const verbs = client.kind(kind);
    const write = async <T>(verb: string, ref: ObjectRef, send: () => Promise<T>): Promise<T> => {
      check?.();
      onWrite?.(verb, kind, ref);
      try {
        return await send();
      } catch (error) {
        if (ref.name !== "" && mayHaveHappened(error)) await this.#resolve(kind, keyOf(ref));
        throw error;
      }
    };
    const took = async (object: Promise<ObjectOf<K>>): Promise<ObjectOf<K>> =>
      informers.wrote(kind, (await object) as ObjectOf<K> & Stored);
    // Taking the last finalizer off an object that is being deleted ends it; the answer shows it as it was.
    const changed = async (object: Promise<ObjectOf<K>>): Promise<ObjectOf<K>> => {
      const answer = (await object) as ObjectOf<K> & Stored;
      const { deletionTimestamp, uid } = answer.metadata;
      if (deletionTimestamp === undefined || lingers(answer)) return informers.wrote(kind, answer);
      const key = objectKey(answer);
      for (const informer of informers.ofKind(kind)) informer.cache.gone(key, uid);
      return answer;
    };
    const subresource = (name: string): SubresourceClient<K> => {
      const sub = verbs.subresource(name);
      const whole = name === "status";
      const maybe = (object: Promise<ObjectOf<K>>) => (whole ? took(object) : object);
      return {
        get: (ref, options) => sub.get(ref, options),
        create: (ref, body, options) => write("create", ref, () => sub.create(ref, body, options)),
        update: (object, options) => write("update", refOf(object), () => maybe(sub.update(object, options))),
        patch: (ref, patch, options) => write("patch", ref, () => maybe(sub.patch(ref, patch, options))),
        apply: (object, options) => write("apply", refOf(object), () => maybe(sub.apply(object, options))),
      };
    };
    return {
      get: (ref, options) => took(verbs.get(ref, options)),
      find: async (ref, options) => {
        const key = keyOf(ref);
        const known = informers
          .ofKind(kind)
          .map((informer) => [informer, informer.cache.uidOf(key)] as const);
        const object = await verbs.find(ref, options);
        if (object) return informers.wrote(kind, object as ObjectOf<K> & Stored);
        for (const [informer, uid] of known) informer.cache.gone(key, uid);
        return undefined;
      },
      list: (options) => verbs.list(options),
      each: (options) => verbs.each(options),
      create: (object, options) =>
        write("create", refOf(object), () =>
          options?.dryRun ? verbs.create(object, options) : took(verbs.create(object, options)),
        ),
      update: (object, options) =>
        write("update", refOf(object), () =>
          options?.dryRun ? verbs.update(object, options) : changed(verbs.update(object, options)),
        ),
      patch: (ref, patch, options) =>
        write("patch", ref, () =>
          options?.dryRun ? verbs.patch(ref, patch, options) : changed(verbs.patch(ref, patch, options)),
        ),
      apply: (object, options) =>
        write("apply", refOf(object), () =>
          options?.dryRun ? verbs.apply(object, options) : changed(verbs.apply(object, options)),
        ),
      delete: (ref, options) => write("delete", ref, () => this.#delete(kind, verbs, ref, options)),
      deleteAll: async (options) => {
        check?.();
        onWrite?.("deleteAll", kind, { name: "" });
        try {
          await verbs.deleteAll(options);
        } finally {
          if (!options.dryRun) this.#doubtAll(kind, options);
        }
      },
      watch: verbs.watch.bind(verbs) as KindClient<K>["watch"],
      reflect: verbs.reflect.bind(verbs) as KindClient<K>["reflect"],
      subresource,
    };
  }

  async #delete<K extends AnyKind>(
    kind: K,
    verbs: KindClient<K>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<ObjectOf<K> | undefined> {
    const { informers } = this.#options;
    const key = keyOf(ref);
    const known = informers.ofKind(kind).map((informer) => [informer, informer.cache.uidOf(key)] as const);
    const object = await verbs.delete(ref, options);
    if (options.dryRun) return object;
    if (object && lingers(object as ObjectOf<K> & Stored)) {
      return informers.wrote(kind, object as ObjectOf<K> & Stored);
    }
    for (const [informer, uid] of known) informer.cache.gone(key, options.uid ?? uid);
    return object;
  }

  /** Asks the server at once what became of a write; when it cannot be asked, the object stays in doubt. */
  async #resolve(kind: AnyKind, key: string): Promise<void> {
    const { informers } = this.#options;
    informers.doubt(kind, key);
    try {
      await Promise.all(informers.ofKind(kind).map((informer) => informer.settle()));
    } catch {
      // The next run settles it before it decides anything.
    }
  }

  #doubtAll(kind: AnyKind, options: { namespace?: string; labels?: string }): void {
    const selector = options.labels === undefined ? undefined : parseLabelSelector(options.labels);
    for (const informer of this.#options.informers.ofKind(kind)) {
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
