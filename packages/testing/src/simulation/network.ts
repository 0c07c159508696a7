/** Who reaches whom, and how: every call to an application and every line between its parts passes here. */
import type { Clock } from "@keelson/core";

/**
 * What is wrong with a line:
 *
 * - `refused`: the connection is turned away at once.
 * - `dropped`: nothing comes back, ever; only the caller's own patience ends it.
 * - `slow`: everything takes longer.
 * - `one-way`: requests arrive and take effect; answers do not come back.
 * - `cut`: the connection breaks in the middle of the answer; the request has taken effect.
 */
export type Impairment = "refused" | "dropped" | "slow" | "one-way" | "cut";

/** The caller that stands for the operator. */
export const operatorName = "operator";
/** The caller that stands for the application's clients. */
export const clientName = "client";

/** How long a kernel tries to connect where nobody answers. */
const connectMs = 127_000;

/** How a connection is impaired. */
export interface Impairing {
  /** Callers; everyone when absent. */
  readonly from?: string;
  /** Those who are called; everyone when absent. */
  readonly to?: string;
  readonly how: Impairment;
  /** With `slow`: by how much. */
  readonly ms?: number;
}

export interface CallSettings {
  readonly from: string;
  readonly to: string;
  readonly signal?: AbortSignal;
  /** The caller gives up after this long. */
  readonly timeoutMs?: number;
}

/** Thrown for what never got an answer. */
export class LineBroken extends Error {
  readonly code: "ECONNREFUSED" | "ECONNRESET" | "ETIMEDOUT";
  constructor(code: LineBroken["code"], message: string) {
    super(message);
    this.name = "LineBroken";
    this.code = code;
  }
}

/** The network between the operator and simulated applications: connections can be refused, dropped, slowed and cut. */
export class Network {
  readonly #clock: Clock;
  readonly #impaired = new Set<Impairing>();
  /** Told of every change. */
  onChange: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Spoils lines until the returned function is called. */
  impair(what: Impairing): () => void {
    this.#impaired.add(what);
    this.onChange();
    return () => {
      if (this.#impaired.delete(what)) this.onChange();
    };
  }

  /** The worst that is wrong between the two. */
  between(from: string, to: string): Impairing | undefined {
    let worst: Impairing | undefined;
    for (const each of this.#impaired) {
      if (each.from !== undefined && each.from !== from) continue;
      if (each.to !== undefined && each.to !== to) continue;
      if (!worst || rank(each) < rank(worst)) worst = each;
    }
    return worst;
  }

  /** Whether two parts of an application hear each other. */
  connected(a: string, b: string): boolean {
    if (this.#impaired.size === 0) return true;
    return [this.between(a, b), this.between(b, a)].every((each) => !each || each.how === "slow");
  }

  /** Carries a call. `work` is what happens at the other end; what it throws is an answer like any other. */
  async call<T>(settings: CallSettings, work: () => T | Promise<T>): Promise<T> {
    const { from, to } = settings;
    const line = this.between(from, to);
    const name = `${from} → ${to}`;
    switch (line?.how) {
      case "refused":
        throw new LineBroken("ECONNREFUSED", `${name}: connection refused`);
      case "dropped":
        return await this.#nothing(settings, name);
      case "one-way":
        await quietly(work);
        return await this.#nothing(settings, name);
      case "cut":
        await quietly(work);
        throw new LineBroken("ECONNRESET", `${name}: the connection broke in the middle of the answer`);
      case "slow": {
        const ms = line.ms ?? 1_000;
        const patience = settings.timeoutMs ?? connectMs;
        if (ms >= patience) return await this.#nothing(settings, name);
        await this.#pause(ms, settings.signal);
        return await work();
      }
      default:
        return await work();
    }
  }

  async #nothing(settings: CallSettings, name: string): Promise<never> {
    await this.#pause(Math.min(settings.timeoutMs ?? connectMs, connectMs), settings.signal);
    throw new LineBroken("ETIMEDOUT", `${name}: no answer`);
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.timer(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }
}

const order: readonly Impairment[] = ["dropped", "refused", "one-way", "cut", "slow"];

function rank({ how }: Impairing): number {
  return order.indexOf(how);
}

/** Whatever the answer is, it does not arrive. */
async function quietly(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    // Refused over there; nobody here is told.
  }
}
