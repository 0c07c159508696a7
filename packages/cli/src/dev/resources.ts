/** Follows the resources of the operator's own kinds, for the view. */
import type { Client } from "@keelson/client";
import { type Condition, dynamicKind, findCondition, keyOf, type Stored } from "@keelson/core";
import type { ResourceRow } from "./events.ts";
import type { KindName } from "./messages.ts";

export interface ResourceListener {
  seen(row: ResourceRow): void;
  gone(kind: string, key: string): void;
}

/** Watches kinds until it is told of others. */
export class ResourceFollower {
  readonly #client: Client;
  readonly #listener: ResourceListener;
  readonly #watches = new Map<string, AbortController>();

  constructor(client: Client, listener: ResourceListener) {
    this.#client = client;
    this.#listener = listener;
  }

  /** Begins with kinds that are new and ends with those that are no longer named. */
  follow(kinds: readonly KindName[]): void {
    const wanted = new Map(kinds.map((kind) => [JSON.stringify(kind), kind]));
    for (const [id, watch] of this.#watches) {
      if (wanted.has(id)) continue;
      watch.abort();
      this.#watches.delete(id);
    }
    for (const [id, kind] of wanted) {
      if (this.#watches.has(id)) continue;
      const watch = new AbortController();
      this.#watches.set(id, watch);
      void this.#watch(kind, watch.signal).catch(() => this.#watches.delete(id));
    }
  }

  stop(): void {
    this.follow([]);
  }

  async #watch(name: KindName, signal: AbortSignal): Promise<void> {
    const known = new Set<string>();
    let before = new Set<string>();
    const events = this.#client.kind(dynamicKind(name)).reflect({ signal });
    const see = (object: Stored) => {
      const row = rowOf(name.kind, object);
      known.add(row.key);
      before.delete(row.key);
      this.#listener.seen(row);
    };
    const lose = (key: string) => {
      known.delete(key);
      this.#listener.gone(name.kind, key);
    };
    await events.forEach((event) => {
      if (event.type === "restart") before = new Set(known);
      else if (event.type === "item" || event.type === "added" || event.type === "modified")
        see(event.object);
      else if (event.type === "deleted") lose(keyOf(event.object.metadata));
      else if (event.type === "synced") for (const key of before) lose(key);
    });
  }
}

export function rowOf(kind: string, object: Stored): ResourceRow {
  const { creationTimestamp, deletionTimestamp } = object.metadata;
  const { status } = object as {
    status?: { conditions?: Condition[]; inventory?: { kind: string; name: string }[] };
  };
  const ready = findCondition(status?.conditions, "Ready");
  const stalled = findCondition(status?.conditions, "Stalled")?.status === "True";
  return {
    kind,
    key: keyOf(object.metadata),
    createdAt: Date.parse(creationTimestamp ?? "") || 0,
    deleting: deletionTimestamp !== undefined,
    stalled,
    conditions: (status?.conditions ?? [])
      .filter(({ type }) => !["Ready", "Reconciling", "Stalled"].includes(type))
      .map((each) => `${each.type}=${each.status} (${each.reason})`),
    children: (status?.inventory ?? []).map((each) => `${each.kind} ${each.name}`),
    ...(ready && {
      ready: ready.status as "True" | "False" | "Unknown",
      ...(ready.reason === undefined ? {} : { reason: ready.reason }),
      ...(ready.message === undefined ? {} : { message: ready.message }),
    }),
  };
}
