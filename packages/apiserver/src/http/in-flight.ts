/** How much may be under way at once: one user cannot take all there is. */
import type { UserInfo } from "../contracts/authentication.ts";
import { tooManyRequests } from "../contracts/status-error.ts";
import type { RequestInfo } from "../messages/request-info.ts";

export interface InFlightLimits {
  /** Requests of all users together. Default 600, as the two limits of kube-apiserver together. */
  readonly total?: number;
  /** Requests of one user. Default 200. */
  readonly perUser?: number;
}

/** Requests that stay open by nature, and hold next to nothing while they do. */
const longRunning = new Set(["exec", "attach", "portforward", "proxy", "log"]);

/** Administrators are not counted: somebody must be able to look, whatever goes on. */
const exempt = "system:masters";

export class InFlight {
  readonly #total: number;
  readonly #perUser: number;
  readonly #byUser = new Map<string, number>();
  #count = 0;

  constructor({ total = 600, perUser = 200 }: InFlightLimits = {}) {
    this.#total = total;
    this.#perUser = perUser;
  }

  /** Takes a place, and returns how to give it back. Throws 429 when there is none. */
  enter({ name, groups }: UserInfo, { verb, subresource }: RequestInfo): (() => void) | undefined {
    if (verb === "watch" || longRunning.has(subresource) || groups.includes(exempt)) return undefined;
    const own = this.#byUser.get(name) ?? 0;
    if (own >= this.#perUser || this.#count >= this.#total)
      throw tooManyRequests("too many requests, please try again later", 1);
    this.#byUser.set(name, own + 1);
    this.#count++;
    return () => this.#leave(name);
  }

  #leave(name: string): void {
    this.#count--;
    const left = (this.#byUser.get(name) ?? 0) - 1;
    if (left > 0) this.#byUser.set(name, left);
    else this.#byUser.delete(name);
  }
}
