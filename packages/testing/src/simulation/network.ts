/** Who reaches whom, and how: every call to an application and every line between its parts passes here. */
import type { ProcessLife } from "../process-life.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { never } from "../watch-stream.ts";

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

/** How slow a line is that does not say it. */
const slowMs = 1_000;

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

/** A call to an application's own API, as faults see it. */
export interface ApplicationCall {
  readonly from: string;
  readonly to: string;
  /** What is asked for: `addMember`. */
  readonly method: string;
  /** It changes something. */
  readonly write: boolean;
}

/**
 * What becomes of a call to an application's API:
 *
 * - `refuse`: it is answered with an error and does nothing.
 * - `lose-answer`: it takes effect, and the connection breaks before the answer.
 * - `die-before`, `die-after`: the caller is killed before or after it takes effect.
 */
export type CallFate = "proceed" | "refuse" | "lose-answer" | "die-before" | "die-after";

export interface CallSettings {
  readonly from: string;
  readonly to: string;
  readonly method?: string;
  readonly write?: boolean;
  /** The process that calls. */
  readonly life?: ProcessLife | undefined;
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
  readonly #clock: VirtualClock;
  readonly #impaired = new Set<Impairing>();
  /** Decides what becomes of each call to an application's API. */
  intercept: (call: ApplicationCall) => CallFate = () => "proceed";
  /** A caller dies in the middle of a call. */
  onDeath: (life: ProcessLife | undefined) => void = () => {};
  /** Told of every change. */
  onChange: () => void = () => {};

  constructor(clock: VirtualClock) {
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

  /** Whether two parts of an application hear each other, where both ways together take less than `patienceMs`. */
  connected(a: string, b: string, patienceMs = Number.POSITIVE_INFINITY): boolean {
    if (this.#impaired.size === 0) return true;
    const lines = [this.between(a, b), this.between(b, a)];
    if (lines.some((each) => each && each.how !== "slow")) return false;
    return lines.reduce((sum, each) => sum + (each ? (each.ms ?? slowMs) : 0), 0) < patienceMs;
  }

  /** Carries a call. `work` is what happens at the other end; what it throws is an answer like any other. */
  async call<T>(settings: CallSettings, work: () => T | Promise<T>): Promise<T> {
    const { life } = settings;
    this.#clock.touch();
    await life?.running();
    try {
      const result = await this.#carry(settings, () => this.#answer(settings, work));
      await life?.running();
      return result;
    } catch (error) {
      await life?.running();
      throw error;
    } finally {
      this.#clock.touch();
    }
  }

  async #answer<T>(settings: CallSettings, work: () => T | Promise<T>): Promise<T> {
    const { from, to, life, method = "", write = false } = settings;
    const fate = this.intercept({ from, to, method, write });
    if (fate === "refuse") throw new LineBroken("ECONNREFUSED", `${from} → ${to}: refused (injected)`);
    if (fate === "die-before") return await this.#death(life);
    const result = await work();
    if (fate === "die-after") return await this.#death(life);
    if (fate === "lose-answer")
      throw new LineBroken("ECONNRESET", `${from} → ${to}: the answer was lost (injected)`);
    return result;
  }

  async #death(life: ProcessLife | undefined): Promise<never> {
    this.onDeath(life);
    return await never();
  }

  async #carry<T>(settings: CallSettings, work: () => Promise<T>): Promise<T> {
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
        const ms = line.ms ?? slowMs;
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
