/** The verbs of one kind. */
import {
  type AnyKind,
  apiVersionOf,
  type InputOf,
  type JsonObject,
  type KubeObject,
  type ObjectOf,
  type ObjectRef,
  resourcePath,
} from "@keelson/core";
import type {
  ApplyOptions,
  DeleteOptions,
  KindClient,
  List,
  ListOptions,
  MetadataOnly,
  Patch,
  Reflection,
  ReflectOptions,
  RequestOptions,
  SelectOptions,
  Subresource,
  SubresourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../client/client.ts";
import {
  collectionPath,
  listQuery,
  named,
  objectPath,
  selected,
  selectQuery,
  withQuery,
  writeQuery,
} from "../client/paths.ts";
import { ClientError, isAbsent } from "../errors.ts";
import { decodeItem } from "../objects/decode.ts";
import { readListPage } from "../objects/list-page.ts";
import { Slices } from "../objects/slices.ts";
import type { Requester } from "../request/requester.ts";
import { reflect } from "../watch/reflect.ts";
import { watch } from "../watch/watch.ts";
import { encode } from "./encode.ts";

const defaultPageSize = 500;

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** What all verbs of all kinds share. */
export interface VerbContext {
  readonly requester: Requester;
  readonly fieldManager: string;
  /** What becomes of the object that an answer is, where it is not parsed as a whole. */
  readonly receive?: (answer: Buffer) => unknown;
}

export function kindClient<K extends AnyKind>(context: VerbContext, kind: K): KindClient<K> {
  return new Verbs(context, kind);
}

class Verbs<K extends AnyKind> implements KindClient<K> {
  readonly #context: VerbContext;
  readonly #kind: K;

  constructor(context: VerbContext, kind: K) {
    this.#context = context;
    this.#kind = kind;
  }

  async get(ref: ObjectRef, options: RequestOptions = {}): Promise<ObjectOf<K>> {
    const doing = `get ${named(this.#kind, ref)}`;
    return await this.#read(objectPath(this.#kind, ref, doing), doing, options);
  }

  async find(ref: ObjectRef, options?: RequestOptions): Promise<ObjectOf<K> | undefined> {
    try {
      return await this.get(ref, options);
    } catch (error) {
      if (isAbsent(error, ref.name)) return undefined;
      throw error;
    }
  }

  async list(options: ListOptions = {}): Promise<List<ObjectOf<K>>> {
    const doing = `list ${selected(this.#kind, options)}`;
    const path = withQuery(resourcePath(this.#kind, options.namespace), listQuery(options, doing));
    const bytes = await this.#context.requester.bytes({ doing, method: "GET", path, ...options });
    const page = readPage(bytes, doing);
    const slices = new Slices(this.#context.requester.settings.clock);
    const items: ObjectOf<K>[] = [];
    for (const item of page.items) {
      items.push(decodeItem(item, { kind: this.#kind }) as ObjectOf<K>);
      if (slices.due(item.length)) await slices.rest();
    }
    const metadata = page.envelope.metadata;
    return {
      items,
      resourceVersion: metadata?.resourceVersion ?? "",
      ...(metadata?.continue ? { continue: metadata.continue } : {}),
      ...(metadata?.remainingItemCount === undefined
        ? {}
        : { remainingItemCount: metadata.remainingItemCount }),
    };
  }

  async *each(
    options: SelectOptions & { readonly pageSize?: number } = {},
  ): AsyncGenerator<ObjectOf<K>, void, void> {
    const doing = `list ${selected(this.#kind, options)}`;
    const slices = new Slices(this.#context.requester.settings.clock);
    let next: string | undefined;
    do {
      const path = withQuery(resourcePath(this.#kind, options.namespace), {
        ...selectQuery(options),
        limit: options.pageSize ?? defaultPageSize,
        continue: next,
      });
      const page = readPage(
        await this.#context.requester.bytes({ doing, method: "GET", path, ...options }),
        doing,
      );
      for (const item of page.items) {
        yield decodeItem(item, { kind: this.#kind }) as ObjectOf<K>;
        if (slices.due(item.length)) await slices.rest();
      }
      next = page.envelope.metadata?.continue || undefined;
    } while (next !== undefined);
  }

  async create(object: InputOf<K>, options: WriteOptions = {}): Promise<ObjectOf<K>> {
    const body = this.#body(object);
    const metadata = body.metadata ?? {};
    const name = metadata.name ?? (metadata.generateName ? `${metadata.generateName}…` : "");
    const doing = `create ${named(this.#kind, { namespace: metadata.namespace, name })}`;
    const path = collectionPath(this.#kind, metadata.namespace, doing);
    return await this.#write("POST", withQuery(path, this.#writeQuery(options)), doing, body, options);
  }

  async update(object: InputOf<K>, options: WriteOptions = {}): Promise<ObjectOf<K>> {
    const body = this.#body(object);
    const ref = refOf(body);
    const doing = `update ${named(this.#kind, ref)}`;
    const path = withQuery(objectPath(this.#kind, ref, doing), this.#writeQuery(options));
    return await this.#write("PUT", path, doing, body, options);
  }

  async patch(ref: ObjectRef, patch: Patch, options: WriteOptions = {}): Promise<ObjectOf<K>> {
    const doing = `patch ${named(this.#kind, ref)}`;
    const path = withQuery(objectPath(this.#kind, ref, doing), this.#writeQuery(options));
    return await this.#write("PATCH", path, doing, patchBody(patch), options, patchTypes[patch.type]);
  }

  apply(object: InputOf<K>, options: ApplyOptions = {}): Promise<ObjectOf<K>> {
    return this.#apply(object, options);
  }

  async delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<ObjectOf<K> | undefined> {
    const doing = `delete ${named(this.#kind, ref)}`;
    const path = objectPath(this.#kind, ref, doing);
    try {
      const answer = await this.#write<KubeObject>("DELETE", path, doing, deleteBody(options), options);
      return answer.kind === "Status" ? undefined : (answer as ObjectOf<K>);
    } catch (error) {
      if (isAbsent(error, ref.name)) return undefined;
      throw error;
    }
  }

  async deleteAll(options: SelectOptions & Omit<DeleteOptions, "uid" | "resourceVersion">): Promise<void> {
    const doing = `delete all ${selected(this.#kind, options)}`;
    const path = collectionPath(this.#kind, options.namespace, doing);
    await this.#write("DELETE", withQuery(path, selectQuery(options)), doing, deleteBody(options), options);
  }

  watch(options: WatchOptions & { readonly metadataOnly: true }): AsyncIterable<WatchEvent<MetadataOnly>>;
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<ObjectOf<K>>>;
  watch(options: WatchOptions = {}): AsyncIterable<WatchEvent<ObjectOf<K>>> {
    return watch(this.#context.requester, this.#kind, options) as AsyncIterable<WatchEvent<ObjectOf<K>>>;
  }

  reflect(options: ReflectOptions & { readonly metadataOnly: true }): Reflection<MetadataOnly>;
  reflect(options?: ReflectOptions): Reflection<ObjectOf<K>>;
  reflect(options: ReflectOptions = {}): Reflection<ObjectOf<K>> {
    return reflect(this.#context.requester, this.#kind, options) as Reflection<ObjectOf<K>>;
  }

  subresource(name: Subresource): SubresourceClient<K> {
    const kind = this.#kind;
    const at = (verb: string, ref: ObjectRef) => {
      const doing = `${verb} ${name} of ${named(kind, ref)}`;
      return { doing, path: objectPath(kind, ref, doing, name) };
    };
    return {
      get: async (ref, options = {}) => {
        const { doing, path } = at("get", ref);
        return await this.#read(path, doing, options);
      },
      create: async (ref, body, options = {}) => {
        const { doing, path } = at("create", ref);
        return await this.#write<JsonObject>(
          "POST",
          withQuery(path, this.#writeQuery(options)),
          doing,
          body,
          options,
        );
      },
      update: async (object, options = {}) => {
        const body = this.#body(object);
        const { doing, path } = at("update", refOf(body));
        return await this.#write("PUT", withQuery(path, this.#writeQuery(options)), doing, body, options);
      },
      patch: async (ref, patch, options = {}) => {
        const { doing, path } = at("patch", ref);
        const target = withQuery(path, this.#writeQuery(options));
        return await this.#write("PATCH", target, doing, patchBody(patch), options, patchTypes[patch.type]);
      },
      apply: (object, options = {}) => this.#apply(object, options, name),
    };
  }

  async #apply(object: InputOf<K>, options: ApplyOptions, subresource?: string): Promise<ObjectOf<K>> {
    const body = this.#body(object);
    const ref = refOf(body);
    const doing = `apply ${subresource === undefined ? "" : `${subresource} of `}${named(this.#kind, ref)}`;
    const path = withQuery(objectPath(this.#kind, ref, doing, subresource), {
      ...this.#writeQuery(options),
      force: options.force ?? undefined,
    });
    return await this.#write("PATCH", path, doing, body, options, patchTypes.apply);
  }

  #read(path: string, doing: string, options: RequestOptions): Promise<ObjectOf<K>> {
    const call = { doing, method: "GET", path, signal: options.signal, timeoutMs: options.timeoutMs };
    return this.#context.requester.json(call, this.#context.receive) as Promise<ObjectOf<K>>;
  }

  #write<T = ObjectOf<K>>(
    method: string,
    path: string,
    doing: string,
    body: unknown,
    options: RequestOptions,
    contentType = "application/json",
  ): Promise<T> {
    const call = {
      doing,
      method,
      path,
      body: encode(body, doing),
      contentType,
      signal: options.signal,
      timeoutMs: options.timeoutMs,
    };
    return this.#context.requester.json(call, this.#context.receive) as Promise<T>;
  }

  #writeQuery(options: WriteOptions) {
    return writeQuery(options, this.#context.fieldManager);
  }

  /** The object with its kind in front: the server insists on both, and a typed caller need not repeat them. */
  #body(object: InputOf<K>): KubeObject {
    return { apiVersion: apiVersionOf(this.#kind), kind: this.#kind.kind, ...(object as KubeObject) };
  }
}

function refOf(object: KubeObject): ObjectRef {
  return { namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" };
}

function patchBody(patch: Patch): unknown {
  return patch.type === "json" ? patch.operations : patch.body;
}

function deleteBody(options: DeleteOptions): unknown {
  const preconditions =
    options.uid === undefined && options.resourceVersion === undefined
      ? undefined
      : { uid: options.uid, resourceVersion: options.resourceVersion };
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions,
    propagationPolicy: options.propagation,
    gracePeriodSeconds: options.gracePeriodSeconds,
    dryRun: options.dryRun ? ["All"] : undefined,
  };
}

function readPage(bytes: Buffer, doing: string) {
  try {
    return readListPage(bytes);
  } catch (cause) {
    const begin = JSON.stringify(bytes.toString("utf8", 0, 80));
    throw new ClientError(
      "InvalidResponse",
      `cannot ${doing}: the answer is no list, it begins with ${begin}`,
      { cause },
    );
  }
}
