/** Hooks as functions of this process, in place of those that a definition names. */
import { type JsonObject, type KubeObject, parseJson } from "@keelson/core";
import type { Hook } from "../api/webhook.ts";
import type { CallOptions } from "./hook-client.ts";

/** Objects by kind (`Pod.v1`, `Deployment.apps/v1`), and by name. */
export type ObjectsByKind = Readonly<Record<string, Readonly<Record<string, KubeObject>>>>;

/** What a sync or finalize hook of a CompositeController is asked. */
export interface SyncRequest<
  P extends KubeObject = KubeObject,
  C extends ObjectsByKind = ObjectsByKind,
  R extends ObjectsByKind = ObjectsByKind,
> {
  /** The definition. */
  readonly controller: KubeObject;
  readonly parent: P;
  readonly children: C;
  readonly related: R;
  readonly finalizing: boolean;
}

/** What it answers: a field that is left out is empty. */
export interface SyncAnswer {
  readonly status?: object;
  /** Children as they should be; one that is left out goes. */
  readonly children?: readonly KubeObject[];
  readonly resyncAfterSeconds?: number;
  /** Of a finalize hook: nothing is left to do. */
  readonly finalized?: boolean;
}

/** What a customize hook is asked. */
export interface CustomizeRequest<P extends KubeObject = KubeObject> {
  readonly controller: KubeObject;
  readonly parent: P;
}

/** Which objects the other hooks want to be shown. */
export interface CustomizeAnswer {
  readonly relatedResources: readonly JsonObject[];
}

type Answering<Q, A> = { bivariant(request: Q): A | Promise<A> }["bivariant"];

/** The hooks of a CompositeController as functions. One that is left out is asked where the definition says. */
export interface HookFunctions {
  readonly sync?: Answering<SyncRequest, SyncAnswer>;
  readonly finalize?: Answering<SyncRequest, SyncAnswer>;
  readonly customize?: Answering<CustomizeRequest, CustomizeAnswer>;
}

/** A hook that is a function: no address, no credentials, no network. */
export function functionHook(
  call: Answering<never, object>,
  version: Hook["version"] = "v1",
): { readonly hook: Hook; readonly options: CallOptions } {
  return {
    hook: { version, webhook: { url: "http://in-this-process/" } },
    options: {
      services: "dns",
      transport: async ({ body }) => {
        const answer = await call(parseJson(body) as never);
        return { status: 200, headers: {}, body: JSON.stringify(answer) };
      },
    },
  };
}
