/**
 * Leader election by a Lease: of many processes one leads, and each knows how long it may believe so.
 *
 * States: following (someone else holds the lease, or nobody does yet) → leading → over (lost or released).
 * Followers watch the lease and do not poll it. The leader renews, and may write only until `renewDeadlineMs`
 * after it sent the last renewal that was granted. A write is given up after `writeTimeoutMs`; both together are
 * shorter than the lease, so that no write of an old leader is under way when a new one can begin.
 *
 * As with every lease this rests on clocks that run at about the same rate, and on a server that does not carry out
 * a request long after its sender gave up.
 */
import {
  type Client,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  isTransient,
} from "@keelson/client";
import {
  type Cancel,
  type Clock,
  dynamicKind,
  formatMicroTime,
  type KubeObject,
  keyOf,
  type Random,
  type Stored,
} from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { FenceCell } from "./fence.ts";

export const Lease = dynamicKind({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  resource: "leases",
  scope: "Namespaced",
});

/** How long a lease lasts, and when its holder gives up. */
export interface LeaseTimings {
  /** After this long without renewal another process may lead. Default: 24 s. */
  readonly leaseMs: number;
  /** After this long without renewal we stop writing. Default: 12 s. */
  readonly renewDeadlineMs: number;
  /** Default: 3 s. */
  readonly renewEveryMs: number;
  /** A write that takes longer is given up. Default: 10 s. */
  readonly writeTimeoutMs: number;
}

const defaults: LeaseTimings = {
  leaseMs: 24_000,
  renewDeadlineMs: 12_000,
  renewEveryMs: 3_000,
  writeTimeoutMs: 10_000,
};

/** Checks that an old leader is silent before a new one speaks. */
export function leaseTimings(wanted: Partial<LeaseTimings> = {}): LeaseTimings {
  const timings = { ...defaults, ...wanted };
  const { leaseMs, renewDeadlineMs, renewEveryMs, writeTimeoutMs } = timings;
  const problem =
    renewDeadlineMs + writeTimeoutMs >= leaseMs
      ? `renewDeadlineMs + writeTimeoutMs (${renewDeadlineMs} + ${writeTimeoutMs}) must be less than leaseMs (${leaseMs}): ` +
        "a write of the old leader could otherwise arrive after a new one began"
      : renewEveryMs * 2 > renewDeadlineMs
        ? `renewEveryMs (${renewEveryMs}) must leave room for two tries before renewDeadlineMs (${renewDeadlineMs})`
        : undefined;
  if (problem !== undefined)
    throw new RuntimeError("InvalidDeclaration", `the lease cannot be held safely: ${problem}`);
  return timings;
}

/** Why this process could not lead if nobody did. */
export interface LeaseProblem {
  readonly message: string;
  /** How long it has lasted. */
  readonly forMs: number;
  /** It may pass by itself: a server that does not answer. */
  readonly transient: boolean;
}

export interface LeaseElectorOptions {
  /** Not fenced: it is what the fence stands on. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly name: string;
  readonly namespace: string;
  /** Unique among all processes, and over restarts. */
  readonly identity: string;
  readonly timings: LeaseTimings;
  readonly fence: FenceCell;
  readonly log: Logger;
}

interface LeaseSpec {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

type LeaseObject = Stored & { spec?: LeaseSpec };

export class LeaseElector {
  readonly #options: LeaseElectorOptions;
  readonly #acquired = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<RuntimeError>();
  readonly #stop = new AbortController();
  #state: "following" | "leading" | "over" = "following";
  #observed: { lease: LeaseObject | undefined; atMs: number } | undefined;
  #held: LeaseObject | undefined;
  /** The next try to acquire or renew. */
  #timer: Cancel | undefined;
  /** When leadership ends unless renewed. */
  #deadline: Cancel | undefined;
  #busy = false;
  #problem: (Omit<LeaseProblem, "forMs"> & { readonly sinceMs: number }) | undefined;
  #watching: Promise<void> | undefined;

  constructor(options: LeaseElectorOptions) {
    this.#options = options;
  }

  /** Resolves when this process leads. */
  get acquired(): Promise<void> {
    return this.#acquired.promise;
  }

  /** Resolves when this process has stopped leading against its will. */
  get lost(): Promise<RuntimeError> {
    return this.#lost.promise;
  }

  get leading(): boolean {
    return this.#state === "leading";
  }

  /** Who holds the lease as far as we know. */
  get holder(): string | undefined {
    return (this.leading ? this.#options.identity : this.#observed?.lease?.spec?.holderIdentity) || undefined;
  }

  /** Undefined when all is well, for all we know. */
  get problem(): LeaseProblem | undefined {
    if (!this.#problem) return undefined;
    const { message, transient, sinceMs } = this.#problem;
    return { message, transient, forMs: this.#options.clock.monotonic() - sinceMs };
  }

  run(): void {
    this.#watching ??= this.#watch();
  }

  /**
   * Stops, and gives the lease back so that another takes over at once. Nothing may be written afterwards. With `keep`
   * it runs out by itself: for a process that is not sure to be done.
   */
  async stop(options: { readonly keep?: boolean } = {}): Promise<void> {
    const held = this.#state === "leading" ? this.#held : undefined;
    this.#end();
    await this.#watching;
    if (!held || options.keep) return;
    try {
      await this.#release(held);
    } catch (error) {
      // It runs out by itself; the next leader only waits longer.
      this.#options.log.warn("the lease could not be given back", { error });
    }
  }

  async #release(held: LeaseObject): Promise<void> {
    const { identity, timings } = this.#options;
    const request = { timeoutMs: timings.renewDeadlineMs / 2 };
    const free = (lease: LeaseObject) =>
      this.#body({ ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 }, lease);
    try {
      await this.#verbs().update(free(held), request);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A renewal was under way, or someone has edited it.
      const live = (await this.#verbs().find(this.#ref(), request)) as LeaseObject | undefined;
      if (live?.spec?.holderIdentity === identity) await this.#verbs().update(free(live), request);
    }
  }

  // -------------------------------------------------------------------------------------- following

  async #watch(): Promise<void> {
    const { name, namespace, client, log } = this.#options;
    const events = client.kind(Lease).reflect({
      namespace,
      fields: `metadata.name=${name}`,
      initial: "list",
      signal: this.#stop.signal,
    });
    let seen = false;
    try {
      for await (const event of events) {
        if (event.type === "restart") seen = false;
        else if (event.type === "resumed") this.#problem = undefined;
        else if (event.type === "item" || event.type === "added" || event.type === "modified") {
          seen = true;
          this.#observe(event.object as LeaseObject);
        } else if (event.type === "deleted" || (event.type === "synced" && !seen)) this.#observe(undefined);
        else if (event.type === "interrupted") {
          log.warn("cannot watch the lease", { lease: name, error: event.error });
          this.#meet(event.error);
        }
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.error("the lease cannot be watched any more", { error });
      this.#lose(`the Lease cannot be watched: ${(error as Error).message}`);
    }
  }

  /** The first of several in a row counts. */
  #meet(error: unknown): void {
    const { clock, name, namespace } = this.#options;
    const { sinceMs } = this.#problem ?? { sinceMs: clock.monotonic() };
    const advice = isForbidden(error)
      ? "; the role must name the Lease that operator({ name }) or leaderElection: { name } names"
      : "";
    const message = `cannot hold the Lease ${keyOf({ namespace, name })}: ${errorText(error)}${advice}`;
    this.#problem = { message, sinceMs, transient: isTransient(error) };
  }

  #observe(lease: LeaseObject | undefined): void {
    const { identity, timings } = this.#options;
    if (this.#state === "over") return;
    if (this.#state === "leading") {
      const newer =
        lease &&
        this.#held &&
        Number(lease.spec?.leaseTransitions ?? 0) > Number(this.#held.spec?.leaseTransitions ?? 0);
      if (newer && lease.spec?.holderIdentity !== identity) {
        this.#lose(`${lease.spec?.holderIdentity || "another"} took it over`);
      } else if (lease?.metadata.uid !== this.#held?.metadata.uid) {
        // Someone deleted it: until it is there again, a process that starts now would find it free.
        void this.#renew();
      }
      return;
    }
    const { random } = this.#options;
    const leftMs = this.#leftMs(lease);
    // A lease that is free is taken at once; a little chance keeps many followers from all trying in one instant.
    this.#try(leftMs > 0 ? leftMs : random.next() * Math.min(200, timings.renewEveryMs / 10));
  }

  /**
   * How long the holder may still believe that it leads, as far as we can tell; nothing when there is none. The holder of a
   * lease that someone deleted leads on until its time is over.
   */
  #leftMs(found: LeaseObject | undefined): number {
    const { clock } = this.#options;
    const before = this.#observed;
    const lease = found ?? before?.lease;
    const renewed = !before || recordOf(before.lease) !== recordOf(lease);
    const observed = { lease, atMs: renewed ? clock.monotonic() : before.atMs };
    this.#observed = observed;
    return this.#isFree(lease) ? 0 : Math.max(0, observed.atMs + durationOf(lease) - clock.monotonic());
  }

  /** Nobody holds it, or we do without knowing: our own answer was lost. No other process has our identity. */
  #isFree(lease: LeaseObject | undefined): boolean {
    const holder = lease?.spec?.holderIdentity;
    return !holder || holder === this.#options.identity;
  }

  #try(afterMs: number): void {
    this.#timer?.();
    this.#timer = this.#options.clock.timer(afterMs, () => void this.#acquire());
  }

  async #acquire(): Promise<void> {
    const { clock, timings, log } = this.#options;
    if (this.#state !== "following" || this.#busy) return;
    this.#busy = true;
    try {
      const live = (await this.#verbs().find(this.#ref(), { timeoutMs: timings.renewDeadlineMs })) as
        | LeaseObject
        | undefined;
      this.#problem = undefined;
      // The answer may be older than what the watch told meanwhile, or newer: either way the holder's time counts
      // from when we first saw its last renewal, and has to be over.
      if (this.#leftMs(live) > 0) {
        this.#observe(live);
        return;
      }
      const startedAt = clock.monotonic();
      const wallStartedAt = clock.now();
      const held = await this.#take(live);
      if (this.#state !== "following") return;
      this.#lead(held, startedAt, wallStartedAt);
    } catch (error) {
      if (this.#state !== "following") return;
      if (!isConflict(error) && !isAlreadyExists(error)) {
        log.warn("cannot acquire the lease", { error });
        this.#meet(error);
      }
      this.#try(timings.renewEveryMs);
    } finally {
      this.#busy = false;
    }
  }

  async #take(live: LeaseObject | undefined): Promise<LeaseObject> {
    const { identity, clock, timings } = this.#options;
    const now = formatMicroTime(clock.now());
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timings.leaseMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: live ? (live.spec?.leaseTransitions ?? 0) + 1 : 0,
    };
    const request = { timeoutMs: timings.renewDeadlineMs / 2 };
    const body = this.#body(spec, live);
    return (
      live ? await this.#verbs().update(body, request) : await this.#verbs().create(body, request)
    ) as LeaseObject;
  }

  // ---------------------------------------------------------------------------------------- leading

  #lead(held: LeaseObject, startedAtMs: number, wallStartedAtMs: number): void {
    const { log, identity, name } = this.#options;
    this.#state = "leading";
    this.#extend(held, startedAtMs, wallStartedAtMs);
    log.info("leading", { lease: name, identity });
    this.#acquired.resolve();
  }

  /** Grants time from the moment at which the renewal was sent, not from when its answer came. */
  #extend(held: LeaseObject, startedAtMs: number, wallStartedAtMs: number): void {
    const { fence, timings, clock } = this.#options;
    this.#held = held;
    this.#problem = undefined;
    fence.allowUntil(startedAtMs + timings.renewDeadlineMs, wallStartedAtMs + timings.renewDeadlineMs);
    this.#deadline?.();
    this.#deadline = clock.timer(startedAtMs + timings.renewDeadlineMs - clock.monotonic(), () =>
      this.#lose("it could not be renewed in time"),
    );
    this.#timer?.();
    this.#timer = clock.timer(timings.renewEveryMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { clock, timings, log } = this.#options;
    if (this.#state !== "leading" || this.#busy) return;
    this.#busy = true;
    try {
      const startedAt = clock.monotonic();
      const wallStartedAt = clock.now();
      const held = await this.#renewHeld();
      if (this.#state !== "leading") return;
      if (held) this.#extend(held, startedAt, wallStartedAt);
    } catch (error) {
      if (this.#state !== "leading") return;
      log.warn("the lease could not be renewed yet", { error });
      this.#timer?.();
      this.#timer = clock.timer(Math.min(1_000, timings.renewEveryMs), () => void this.#renew());
    } finally {
      this.#busy = false;
    }
  }

  /** Undefined when the lease turned out to be someone else's. */
  async #renewHeld(): Promise<LeaseObject | undefined> {
    const { identity, clock, timings } = this.#options;
    const request = { timeoutMs: timings.renewDeadlineMs / 2 };
    const renewed = (lease: LeaseObject) => ({ ...lease.spec, renewTime: formatMicroTime(clock.now()) });
    const held = this.#held as LeaseObject;
    try {
      return (await this.#verbs().update(this.#body(renewed(held), held), request)) as LeaseObject;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      const live = (await this.#verbs().find(this.#ref(), request)) as LeaseObject | undefined;
      if (live?.spec?.holderIdentity === identity) {
        return (await this.#verbs().update(this.#body(renewed(live), live), request)) as LeaseObject;
      }
      if (!live)
        return (await this.#verbs().create(this.#body(renewed(held), undefined), request)) as LeaseObject;
      this.#lose(`${live.spec?.holderIdentity || "another"} holds it`);
      return undefined;
    }
  }

  #lose(why: string): void {
    if (this.#state === "over") return;
    const { name, namespace, log } = this.#options;
    this.#end();
    const error = new RuntimeError("LeaseLost", `the Lease ${keyOf({ namespace, name })} is lost: ${why}`);
    log.error(error.message);
    this.#lost.resolve(error);
  }

  #end(): void {
    this.#state = "over";
    this.#options.fence.close();
    this.#timer?.();
    this.#deadline?.();
    this.#stop.abort();
  }

  #verbs() {
    return this.#options.client.kind(Lease);
  }

  #ref() {
    return { namespace: this.#options.namespace, name: this.#options.name };
  }

  /** The lease with another spec; the version in it makes the write fail when someone else was faster. */
  #body(spec: LeaseSpec, existing: LeaseObject | undefined): KubeObject & { spec: LeaseSpec } {
    return { ...existing, metadata: { ...existing?.metadata, ...this.#ref() }, spec };
  }
}

/** What changes with every renewal and every new holder. */
function recordOf(lease: LeaseObject | undefined): string {
  const { holderIdentity, renewTime, acquireTime, leaseTransitions } = lease?.spec ?? {};
  return JSON.stringify([holderIdentity ?? "", renewTime ?? "", acquireTime ?? "", leaseTransitions ?? 0]);
}

function durationOf(lease: LeaseObject | undefined): number {
  return (lease?.spec?.leaseDurationSeconds ?? 0) * 1000;
}
