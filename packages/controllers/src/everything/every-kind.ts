/** Follows the metadata of every object of every kind, also of kinds that come and go while we run. */
import type { Client } from "@keelson/client";
import { type AnyKind, type Clock, groupKind, parseApiVersion, type Stored } from "@keelson/core";
import type { Logger } from "@keelson/runtime";
import { type Change, Informer } from "@keelson/runtime/internal";
import { type Discovered, discoverAll } from "./discovery.ts";

export interface EveryKindOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends all watches. */
  readonly signal: AbortSignal;
}

export type EveryChange = (
  kind: AnyKind,
  change:
    | Pick<Change<Stored>, "type" | "object" | "previous">
    /** Its kind is not followed any more: nothing is known of it from now on, least of all that it is gone. */
    | { readonly type: "forgotten"; readonly object: Stored },
) => void;

interface Followed {
  readonly kind: AnyKind;
  readonly informer: Informer;
  /** Not served since, by the monotonic clock. */
  missingSinceMs?: number;
}

/** What is deleted along with its kind is told by the watches of that kind, for which they are left this much time. */
const farewellMs = 10_000;
/** A kind that cannot be listed, as when its conversion fails, must not keep the others waiting. */
const syncMs = 30_000;

/** Kinds that come and go by themselves in great numbers, and that nothing refers to. */
const ignored = new Set(["events", "events.events.k8s.io"]);

export class EveryKind {
  readonly #options: EveryKindOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #handlers = new Set<EveryChange>();
  #known: Discovered = { kinds: [], failures: [] };

  constructor(options: EveryKindOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => void this.#stopAll(), { once: true });
  }

  /** What discovery told last. */
  get known(): Discovered {
    return this.#known;
  }

  /** All objects of all kinds were read at least once. */
  get synced(): boolean {
    return this.#followed.size > 0 && [...this.#followed.values()].every(({ informer }) => informer.synced);
  }

  onChange(handler: EveryChange): void {
    this.#handlers.add(handler);
  }

  /**
   * Asks the server what it serves, follows what is new and leaves what is gone. Resolves when all of it is read, or as
   * much of it as can be read in time.
   */
  async refresh(): Promise<void> {
    const { client, clock, signal } = this.#options;
    this.#known = await discoverAll(client, signal);
    if (signal.aborted) return;
    const down = new Set(this.#known.failures.map(({ groupVersion }) => parseApiVersion(groupVersion).group));
    const served = new Set<string>();
    for (const { kind, verbs } of this.#known.kinds) {
      const id = `${groupOf(kind)}/${kind.version}`;
      if (ignored.has(groupOf(kind)) || !["list", "watch", "delete"].every((verb) => verbs.includes(verb)))
        continue;
      served.add(id);
      if (!this.#followed.has(id)) this.#follow(id, kind);
    }
    for (const [id, followed] of this.#followed) {
      // A group that does not answer is not gone: what is known of it stays.
      if (served.has(id) || down.has(followed.kind.group)) {
        delete followed.missingSinceMs;
        continue;
      }
      followed.missingSinceMs ??= clock.monotonic();
      if (clock.monotonic() - followed.missingSinceMs < farewellMs) continue;
      this.#followed.delete(id);
      await followed.informer.stop();
      for (const object of followed.informer.cache.list()) {
        this.#tell(followed.kind, { type: "forgotten", object });
      }
    }
    await this.#whenSynced(served);
  }

  async #whenSynced(ids: ReadonlySet<string>): Promise<void> {
    const waiting = [...ids].flatMap((id) => this.#followed.get(id)?.informer.whenSynced() ?? []);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.timer(syncMs, resolve);
    await Promise.race([Promise.allSettled(waiting), late]);
    cancel();
  }

  /** The kind that an owner reference names, whatever version it speaks. */
  find(apiVersion: string, kind: string): AnyKind | undefined {
    const { group } = parseApiVersion(apiVersion);
    return this.#known.kinds.find((served) => served.kind.group === group && served.kind.kind === kind)?.kind;
  }

  #follow(id: string, kind: AnyKind): void {
    const { client, clock, log } = this.#options;
    const informer = new Informer({ client, clock, kind, scope: { metadataOnly: true } });
    informer.onChange((change) => this.#tell(kind, change as Change<Stored>));
    this.#followed.set(id, { kind, informer: informer as unknown as Informer });
    informer.start();
    log.debug("following the metadata of a kind", { kind: groupKind(kind) });
  }

  #tell(kind: AnyKind, change: Parameters<EveryChange>[1]): void {
    for (const handler of this.#handlers) handler(kind, change);
  }

  async #stopAll(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ informer }) => informer.stop()));
  }
}

/** `resource.group`, `resource` in the core group. */
function groupOf({ group, resource }: AnyKind): string {
  return group ? `${resource}.${group}` : resource;
}
