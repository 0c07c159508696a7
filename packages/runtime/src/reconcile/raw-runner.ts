/** Runs one raw controller. */
import { type Clock, deepFreeze, groupKind, type Random } from "@keelson/core";
import { type Change, type Informer, settleAll } from "../cache/informer.ts";
import { TrackedClient } from "../cache/tracked-client.ts";
import type { Cause } from "../controller/context.ts";
import { PermissionCheck } from "../controller/permissions.ts";
import {
  causeOf,
  type RawCaches,
  type RawContext,
  type RawController,
  type RawWatch,
} from "../controller/raw-controller.ts";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { WorkItem } from "../queue/work-queue.ts";
import { type Scope, withDeadline } from "./deadline.ts";
import { grantedKind } from "./granted-client.ts";
import type { LoopDefinition, LoopWatch, Trigger, Verdict } from "./loop.ts";
import { serverFacts } from "./server-facts.ts";
import type { Services } from "./services.ts";

export class RawRunner implements LoopDefinition {
  readonly #controller: RawController;
  readonly #services: Services;
  readonly #informers = new Map<string, Informer>();
  readonly #caches: RawCaches;
  readonly #client: TrackedClient;
  readonly #permissions: PermissionCheck;
  readonly #random: Random;

  constructor(controller: RawController, services: Services) {
    this.#controller = controller;
    this.#services = services;
    this.#permissions = new PermissionCheck(controller);
    this.#random = services.random.fork(`controller/${controller.name}`);
    this.#client = new TrackedClient({ client: services.client, informers: services.informers });
    for (const [name, { kind, options }] of Object.entries(controller.watches)) {
      const { indexes, keys: _, ...scope } = options;
      const home = services.namespace !== undefined && kind.scope === "Namespaced";
      const informer = services.informers.for(kind, {
        ...(home ? { namespace: services.namespace } : {}),
        ...scope,
      }) as unknown as Informer;
      // Caches may be shared between controllers, index names may not clash: each is under its controller's name.
      for (const [index, of] of Object.entries(indexes ?? {})) {
        informer.cache.addIndex(this.#index(name, index), (object) => of(deepFreeze(object) as never));
      }
      this.#informers.set(name, informer);
    }
    this.#caches = Object.fromEntries(
      [...this.#informers].map(([name, { cache }]) => [
        name,
        {
          get: (key: string) => cache.get(key),
          list: (namespace?: string) => cache.list(namespace),
          byIndex: (index: string, value: string) => cache.byIndex(this.#index(name, index), value),
          get size() {
            return cache.size;
          },
        },
      ]),
    ) as unknown as RawCaches;
  }

  get name(): string {
    return this.#controller.name;
  }

  get concurrency(): number {
    return this.#controller.options.concurrency;
  }

  get resyncMs(): number | undefined {
    return this.#controller.options.resyncMs;
  }

  get watches(): LoopWatch[] {
    return Object.entries(this.#controller.watches).map(([name, declared]) => ({
      informer: this.#informers.get(name) as Informer,
      map: (change) => this.#triggers(declared, change),
    }));
  }

  release(): void {
    for (const [name, { options }] of Object.entries(this.#controller.watches)) {
      const { cache } = this.#informers.get(name) as Informer;
      for (const index of Object.keys(options.indexes ?? {})) cache.removeIndex(this.#index(name, index));
    }
  }

  keys(): Iterable<string> {
    const first = this.#informers.values().next().value;
    return first ? [...first.cache.keys()] : [];
  }

  async process(item: WorkItem<Cause>, stop: AbortSignal): Promise<Verdict> {
    await settleAll(this.#informers.values(), stop);
    const { clock, log, events, stragglers, controllers } = this.#services;
    const { options, fieldManager } = this.#controller;
    const wishes: number[] = [];
    await withDeadline(
      {
        clock,
        timeoutMs: options.timeoutMs,
        signal: stop,
        expired: () => this.#tooLong(item.key),
        stragglers,
      },
      async (scope) => {
        const granted = { client: this.#client, permissions: this.#permissions, fieldManager };
        const context = new RunContext(item, scope, {
          caches: this.#caches,
          kind: (kind) => grantedKind({ ...granted, signal: scope.signal, check: () => refuse(scope) }, kind),
          event: (regarding, type, reason, message) =>
            events.record(this.name, regarding, type, reason, message),
          recheck: (afterMs) => wishes.push(afterMs),
          controllers: controllers.within({ signal: () => scope.signal, check: () => refuse(scope) }),
          server: serverFacts(this.#services.client, () => scope.signal),
          clock,
          random: this.#random,
          log: () => log.child({ controller: this.name, key: item.key }),
        });
        await this.#controller.reconcile(item.key, context);
      },
    );
    return wishes.length === 0 ? {} : { recheckMs: Math.max(0, Math.min(...wishes)) };
  }

  *#triggers(declared: RawWatch, change: Change): Iterable<Trigger> {
    const { keys } = declared.options;
    const cause = causeOf(declared.kind, change, keys === undefined);
    if (!keys) {
      yield { key: change.key, cause };
      return;
    }
    for (const key of keys(change as never, this.#caches)) yield { key, cause };
  }

  #index(watch: string, index: string): string {
    return `${this.#controller.name}/${watch}/${index}`;
  }

  #tooLong(key: string): RuntimeError {
    const kinds = Object.values(this.#controller.watches).map(({ kind }) => groupKind(kind));
    return new RuntimeError(
      "ReconcileTimeout",
      `controller "${this.name}" (${kinds[0] ?? ""}) did not end with ${key} within ` +
        `${this.#controller.options.timeoutMs / 1000} s`,
    );
  }
}

interface RunSources extends Omit<RawContext, "causes" | "failures" | "log" | "signal"> {
  readonly log: () => Logger;
}

/** What one reconcile is handed. Its signal and its logger are made for those who ask: most do not. */
class RunContext implements RawContext {
  readonly caches: RawContext["caches"];
  readonly kind: RawContext["kind"];
  readonly event: RawContext["event"];
  readonly recheck: RawContext["recheck"];
  readonly controllers: RawContext["controllers"];
  readonly server: RawContext["server"];
  readonly causes: readonly Cause[];
  readonly failures: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly #scope: Scope;
  readonly #makeLog: () => Logger;
  #log: Logger | undefined;

  constructor(item: WorkItem<Cause>, scope: Scope, sources: RunSources) {
    this.caches = sources.caches;
    this.kind = sources.kind;
    this.event = sources.event;
    this.recheck = sources.recheck;
    this.controllers = sources.controllers;
    this.server = sources.server;
    this.causes = item.causes;
    this.failures = item.failures;
    this.clock = sources.clock;
    this.random = sources.random;
    this.#scope = scope;
    this.#makeLog = sources.log;
  }

  get log(): Logger {
    this.#log ??= this.#makeLog();
    return this.#log;
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }
}

function refuse(scope: Scope): void {
  if (!scope.aborted) return;
  throw new RuntimeError("Ended", "this reconcile is over and can do nothing more", { cause: scope.reason });
}
