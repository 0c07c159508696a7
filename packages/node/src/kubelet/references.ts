/** Config maps and secrets that pods on this node refer to, each followed once while anybody needs it. */
import type { ReflectEvent } from "@keelson/client";
import type { Stored } from "@keelson/core";
import type { ConfigMap, Secret } from "@keelson/core/kinds";
import type { NodeApi } from "../api/api.ts";
import type { References } from "../environment/environment.ts";

type Kind = "configMap" | "secret";
type Held = Stored<ConfigMap> | Stored<Secret>;

interface Followed {
  readonly users: Set<string>;
  readonly abort: AbortController;
  readonly synced: Promise<void>;
  object: Held | undefined;
}

export class ReferenceCache {
  readonly #api: NodeApi;
  readonly #onChange: (users: readonly string[]) => void;
  readonly #followed = new Map<string, Followed>();

  /** `onChange` is told which pods (by UID) refer to an object that changed. */
  constructor(api: NodeApi, onChange: (users: readonly string[]) => void) {
    this.#api = api;
    this.#onChange = onChange;
  }

  /** Reads on behalf of a pod; what it reads is followed until `release`. */
  for(user: string): References {
    return {
      configMap: async (namespace, name) =>
        (await this.#get("configMap", namespace, name, user)) as Stored<ConfigMap>,
      secret: async (namespace, name) => (await this.#get("secret", namespace, name, user)) as Stored<Secret>,
    };
  }

  release(user: string): void {
    for (const [key, followed] of this.#followed) {
      followed.users.delete(user);
      if (followed.users.size > 0) continue;
      followed.abort.abort();
      this.#followed.delete(key);
    }
  }

  async #get(kind: Kind, namespace: string, name: string, user: string): Promise<Held | undefined> {
    const key = `${kind}/${namespace}/${name}`;
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      followed = this.#follow(kind, namespace, name);
      this.#followed.set(key, followed);
    }
    followed.users.add(user);
    await followed.synced;
    return followed.object;
  }

  #follow(kind: Kind, namespace: string, name: string): Followed {
    const abort = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const followed: Followed = { users: new Set(), abort, synced: promise, object: undefined };
    // A failure is thrown at the caller; without a caller it is no failure.
    promise.catch(() => undefined);
    const events: AsyncIterable<ReflectEvent<Held>> =
      kind === "configMap"
        ? this.#api.followConfigMap(namespace, name, abort.signal)
        : this.#api.followSecret(namespace, name, abort.signal);
    const run = async () => {
      let next: Held | undefined;
      let synced = false;
      for await (const event of events) {
        if (event.type === "restart") next = undefined;
        else if (event.type === "item") next = event.object;
        else if (event.type === "synced") {
          followed.object = next;
          if (synced) this.#onChange([...followed.users]);
          synced = true;
          resolve();
        } else if (event.type === "added" || event.type === "modified") {
          followed.object = event.object;
          this.#onChange([...followed.users]);
        } else if (event.type === "deleted") {
          next = undefined;
          if (synced) followed.object = undefined;
          if (synced) this.#onChange([...followed.users]);
        }
      }
    };
    run().catch((error: unknown) => {
      this.#followed.delete(`${kind}/${namespace}/${name}`);
      reject(error);
    });
    return followed;
  }
}
