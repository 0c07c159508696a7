/** A client that does what was declared, for as long as its reconcile runs. */
import type { KindClient, SubresourceClient } from "@keelson/client";
import type { AnyKind, KubeObject, Stored } from "@keelson/core";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Verb } from "../controller/declaration.ts";
import type { PermissionCheck } from "../controller/permissions.ts";
import type { Scope } from "./deadline.ts";

export interface GrantedOptions {
  readonly client: TrackedClient;
  readonly permissions: PermissionCheck;
  /** Throws once the reconcile is over. */
  readonly check: () => void;
  /** Ends with the reconcile. */
  readonly scope: Pick<Scope, "signal">;
  readonly fieldManager: string;
  /** Hears of every object as it was written. Default: nobody does. */
  readonly written?: (object: Stored) => void;
}

/** All verbs of a kind behind the check. Requests end with the reconcile. */
export function grantedKind<K extends AnyKind>(options: GrantedOptions, kind: K): KindClient<K> {
  const { client, permissions, check, scope, fieldManager, written } = options;
  const verbs = client.kind(kind);
  const demand = (verb: Verb, name?: string) => {
    check();
    permissions.require(verb, kind, undefined, name);
  };
  const within = <O extends object>(request: O | undefined) => bounded(scope.signal, request);
  const tell = <O extends object>(object: O): O => {
    written?.(object as unknown as Stored);
    return object;
  };
  return {
    get: async (ref, request) => {
      demand("get", ref.name);
      return await verbs.get(ref, within(request));
    },
    find: async (ref, request) => {
      demand("get", ref.name);
      return await verbs.find(ref, within(request));
    },
    list: async (request) => {
      demand("list");
      return await verbs.list(within(request));
    },
    each: (request) => {
      demand("list");
      return verbs.each(within(request));
    },
    create: async (object, request) => {
      demand("create", nameOf(object));
      return await verbs.create(object, { fieldManager, ...within(request) });
    },
    update: async (object, request) => {
      demand("update", nameOf(object));
      return tell(await verbs.update(object, { fieldManager, ...within(request) }));
    },
    patch: async (ref, patch, request) => {
      demand("patch", ref.name);
      return tell(await verbs.patch(ref, patch, { fieldManager, ...within(request) }));
    },
    apply: async (object, request) => {
      demand("patch", nameOf(object));
      return tell(await verbs.apply(object, { fieldManager, ...within(request) }));
    },
    delete: async (ref, request) => {
      demand("delete", ref.name);
      return await verbs.delete(ref, within(request));
    },
    deleteAll: async (request) => {
      demand("deletecollection");
      await verbs.deleteAll(within(request));
    },
    watch: ((request) => {
      demand("watch");
      return verbs.watch(within(request));
    }) as KindClient<K>["watch"],
    reflect: ((request) => {
      demand("watch");
      return verbs.reflect(within(request));
    }) as KindClient<K>["reflect"],
    subresource: (name) => grantedSubresource(options, kind, name),
  };
}

export function grantedSubresource<K extends AnyKind>(
  options: GrantedOptions,
  kind: K,
  subresource: string,
): SubresourceClient<K> {
  const { client, permissions, check, scope, fieldManager } = options;
  const verbs = client.kind(kind).subresource(subresource);
  const demand = (verb: Verb, name?: string) => {
    check();
    permissions.require(verb, kind, subresource, name);
  };
  const within = <O extends object>(request: O | undefined) => bounded(scope.signal, request);
  return {
    get: async (ref, request) => {
      demand("get", ref.name);
      return await verbs.get(ref, within(request));
    },
    create: async (ref, body, request) => {
      demand("create", ref.name);
      return await verbs.create(ref, body, { fieldManager, ...within(request) });
    },
    update: async (object, request) => {
      demand("update", nameOf(object));
      return await verbs.update(object, { fieldManager, ...within(request) });
    },
    patch: async (ref, patch, request) => {
      demand("patch", ref.name);
      return await verbs.patch(ref, patch, { fieldManager, ...within(request) });
    },
    apply: async (object, request) => {
      demand("patch", nameOf(object));
      return await verbs.apply(object, { fieldManager, ...within(request) });
    },
  };
}

/** A signal of the caller's own may end a request sooner, never later than its reconcile. */
function bounded<O extends { readonly signal?: AbortSignal }>(
  signal: AbortSignal,
  request: O | undefined,
): O & { signal: AbortSignal } {
  const own = request?.signal;
  return { ...(request as O), signal: own ? AbortSignal.any([signal, own]) : signal };
}

function nameOf(object: KubeObject): string | undefined {
  return object.metadata?.name;
}
