/** Runs one raw controller. */
import {
  type AnyKind,
  type Clock,
  deepFreeze,
  groupKind,
  type JsonObject,
  keyOf,
  type ObjectMeta,
  parseKey,
  type Random,
  type Stored,
} from "@keelson/core";
import { type Change, type Informer, settleAll } from "../cache/informer.ts";
import type { CacheReader } from "../cache/object-cache.ts";
import { TrackedClient } from "../cache/tracked-client.ts";
import { AppliedObjects, AppliedRecords } from "../children/applied-objects.ts";
import type { Cause } from "../controller/context.ts";
import type { Backoff } from "../controller/controller.ts";
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
  readonly #caches: Record<string, CacheReader<never>> = {};
  readonly #client: TrackedClient;
  readonly #permissions: PermissionCheck;
  readonly #applied: AppliedObjects;
  readonly #random: Random;
  /** Watches that reconciles asked for. */
  readonly #followed: Record<string, RawWatch> = {};
  #follow: (watch: LoopWatch) => void = () => {};

  constructor(controller: RawController, services: Services) {
    this.#controller = controller;
    this.#services = services;
    this.#permissions = new PermissionCheck(controller);
    this.#random = services.random.fork(`controller/${controller.name}`);
    this.#client = new TrackedClient({ client: services.client, informers: services.informers });
    const { fieldManager } = controller;
    this.#applied = new AppliedObjects({ client: this.#client, records: new AppliedRecords(), fieldManager });
    for (const [name, declared] of Object.entries(controller.watches)) this.#add(name, declared);
  }

  #add(name: string, { kind, options }: RawWatch): Informer {
    const services = this.#services;
    const { indexes, keys: _, applies, ...scope } = options;
    const home = services.namespace !== undefined && kind.scope === "Namespaced";
    const informer = services.informers.for(
      kind,
      { ...(home ? { namespace: services.namespace } : {}), ...scope },
      applies ? this.#controller.fieldManager : undefined,
    ) as unknown as Informer;
    const { cache } = informer;
    // Caches may be shared between controllers, index names may not clash: each is under its controller's name.
    for (const [index, of] of Object.entries(indexes ?? {})) {
      cache.addIndex(this.#index(name, index), (object) => of(deepFreeze(object) as never));
    }
    this.#informers.set(name, informer);
    this.#caches[name] = {
      get: (key: string) => cache.get(key),
      list: (namespace?: string) => cache.list(namespace),
      byIndex: (index: string, value: string) => cache.byIndex(this.#index(name, index), value),
      get size() {
        return cache.size;
      },
    } as unknown as CacheReader<never>;
    return informer;
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

  get backoff(): Backoff {
    return this.#controller.options.backoff;
  }

  get calms(): boolean {
    return this.#controller.options.calms;
  }

  get watches(): LoopWatch[] {
    return Object.entries(this.#all).map(([name, declared]) => this.#watch(name, declared));
  }

  get #all(): Readonly<Record<string, RawWatch>> {
    return { ...this.#controller.watches, ...this.#followed };
  }

  onWatch(follow: (watch: LoopWatch) => void): void {
    this.#follow = follow;
  }

  #watch(name: string, declared: RawWatch): LoopWatch {
    return {
      informer: this.#informers.get(name) as Informer,
      map: (change) => this.#triggers(declared, change),
    };
  }

  release(): void {
    for (const [name, { options }] of Object.entries(this.#all)) {
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
          caches: this.#caches as never,
          kind: (kind) => grantedKind({ ...granted, scope, check: () => refuse(scope) }, kind),
          apply: (watch, body, request) => this.#apply(watch, body, request?.force ?? true, scope),
          wouldChange: (watch, body) => this.#wouldChange(watch, body, scope),
          follow: (name, kind, watching) => this.#followKind(name, kind, watching as never, scope) as never,
          connect: (target, port) =>
            this.#services.connect(target, port, {
              namespace: parseKey(item.key).namespace,
              signal: scope.signal,
            }),
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

  async #apply(watch: string, body: JsonObject, force: boolean, scope: Scope): Promise<Stored> {
    refuse(scope);
    const informer = this.#appliable(watch, body);
    const seen = this.#seen(informer, body);
    if (seen && this.#applied.has(informer, body, seen)) return seen;
    return await this.#applied.send(informer, body, { force, signal: scope.signal });
  }

  async #wouldChange(watch: string, body: JsonObject, scope: Scope): Promise<boolean> {
    refuse(scope);
    const informer = this.#appliable(watch, body);
    const seen = this.#seen(informer, body);
    return !seen || (await this.#applied.wouldChange(informer, body, seen, { signal: scope.signal }));
  }

  #appliable(watch: string, body: JsonObject): Informer {
    const declared = this.#controller.watches[watch];
    if (!declared?.options.applies) {
      throw new RuntimeError(
        "NotDeclared",
        `controller "${this.name}" has no watch "${watch}" with applies: true, so it cannot tell what it owns there`,
      );
    }
    this.#permissions.require("patch", declared.kind, undefined, (body.metadata as ObjectMeta).name);
    return this.#informers.get(watch) as Informer;
  }

  #seen(informer: Informer, body: JsonObject): Stored | undefined {
    const { namespace, name = "", uid } = body.metadata as ObjectMeta;
    const seen = informer.cache.get(keyOf({ namespace, name }));
    return uid === undefined || seen?.metadata.uid === uid ? seen : undefined;
  }

  async #followKind(
    name: string,
    kind: AnyKind,
    options: RawWatch["options"] = {},
    scope: Scope,
  ): Promise<CacheReader<never>> {
    refuse(scope);
    const known = this.#informers.get(name);
    if (known) {
      await known.whenSynced();
      return this.#caches[name] as CacheReader<never>;
    }
    const declared: RawWatch = { role: "watch", kind, options };
    const informer = this.#add(name, declared);
    this.#followed[name] = declared;
    this.#follow(this.#watch(name, declared));
    informer.start();
    try {
      await informer.whenSynced();
    } catch (error) {
      // Asked for again, it may be possible by then.
      this.#informers.delete(name);
      delete this.#followed[name];
      delete this.#caches[name];
      await this.#services.informers.discard(informer);
      throw error;
    }
    return this.#caches[name] as CacheReader<never>;
  }

  *#triggers(declared: RawWatch, change: Change): Iterable<Trigger> {
    if (change.type === "deleted" && declared.options.applies) {
      this.#applied.forget(declared.kind, change.key);
    }
    const { keys } = declared.options;
    const cause = causeOf(declared.kind, change, keys === undefined);
    if (!keys) {
      yield { key: change.key, cause };
      return;
    }
    for (const key of keys(change as never, this.#caches as RawCaches)) yield { key, cause };
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
  readonly apply: RawContext["apply"];
  readonly wouldChange: RawContext["wouldChange"];
  readonly follow: RawContext["follow"];
  readonly connect: RawContext["connect"];
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
    this.apply = sources.apply;
    this.wouldChange = sources.wouldChange;
    this.follow = sources.follow;
    this.connect = sources.connect;
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
