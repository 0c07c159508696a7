/** Disturbances on demand: what a network and a busy server do to a manager, one at a time or at random. */
import type { Random } from "@keelson/core";
import type { ObservedRequest } from "./observed-request.ts";

/**
 * - `answer`: the server refuses without doing anything.
 * - `refuse`: no connection; nothing was sent.
 * - `reset`: the connection breaks before the server has read the request.
 * - `lose-answer`: the server does it, and the connection breaks before the answer.
 * - `timeout-after-commit`: the server does it, and no answer ever comes.
 * - `silence`: nothing happens and no answer ever comes.
 * - `delay`: the server takes its time.
 */
export type Fault =
  | {
      readonly type: "answer";
      readonly status: number;
      readonly reason: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  | { readonly type: "refuse" | "reset" | "lose-answer" | "timeout-after-commit" | "silence" }
  | { readonly type: "delay"; readonly ms: number };

/** 409: the object changed since it was read. */
export function conflict(): Fault {
  return { type: "answer", status: 409, reason: "Conflict" };
}

/** 429 with Retry-After. */
export function tooManyRequests(retryAfterSeconds = 1): Fault {
  return { type: "answer", status: 429, reason: "TooManyRequests", retryAfterSeconds };
}

/** 500, or another 5xx. */
export function serverError(status = 500): Fault {
  return { type: "answer", status, reason: status === 503 ? "ServiceUnavailable" : "InternalError" };
}

/** Which requests a fault meets, and how often. */
export interface FaultRule {
  /** Which requests. Default: every write. */
  readonly on?: (request: ObservedRequest) => boolean;
  readonly fault: Fault;
  /** How often. Default: once. */
  readonly times?: number;
}

interface LiveRule {
  readonly on: (request: ObservedRequest) => boolean;
  readonly fault: Fault;
  left: number;
}

/** Faults between the managers and the API server. */
export class Faults {
  readonly #rules: LiveRule[] = [];
  readonly #held = new Set<string>();
  /** Watches look again whether they may go on. */
  onRelease: () => void = () => {};

  /** Disturbs the next matching requests. */
  inject(rule: FaultRule): void {
    this.#rules.push({
      on: rule.on ?? ((request) => request.write),
      fault: rule.fault,
      left: rule.times ?? 1,
    });
  }

  /** Disturbs requests at random, as a bad day would; `until` ends it. */
  swarm(options: {
    readonly random: Random;
    readonly chance: number;
    readonly faults: readonly Fault[];
    readonly on?: (request: ObservedRequest) => boolean;
    readonly until: () => boolean;
  }): void {
    const { random, chance, faults, until } = options;
    const on = options.on ?? ((request) => !request.watch);
    let drawn: Fault | undefined;
    this.#rules.push({
      on: (request) => {
        if (until() || !on(request) || random.next() >= chance) return false;
        drawn = faults[Math.floor(random.next() * faults.length)];
        return drawn !== undefined;
      },
      get fault() {
        return drawn as Fault;
      },
      left: Number.POSITIVE_INFINITY,
    });
  }

  /** Takes all disturbances back. */
  clear(): void {
    this.#rules.length = 0;
    for (const resource of [...this.#held]) this.release(resource);
  }

  /** Holds back all watch events of a resource (`pods`): caches grow stale, writes and live reads go on. */
  hold(resource: string): void {
    this.#held.add(resource);
  }

  release(resource: string): void {
    this.#held.delete(resource);
    this.onRelease();
  }

  isHeld(request: ObservedRequest): boolean {
    return this.#held.has(request.resource);
  }

  /** The disturbance for this request, if one is due. */
  draw(request: ObservedRequest): Fault | undefined {
    const rule = this.#rules.find((each) => each.left > 0 && each.on(request));
    if (!rule) return undefined;
    rule.left--;
    const { fault } = rule;
    if (rule.left <= 0) this.#rules.splice(this.#rules.indexOf(rule), 1);
    return fault;
  }
}
