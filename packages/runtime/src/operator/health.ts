/** What the endpoints say of an operator, from before its caches exist until it has stopped. */
import type { Check } from "./endpoints.ts";

export class Health {
  #caches: Check = () => "the operator is starting";
  #lost: Error | undefined;
  #stopping = false;

  /** Why the operator cannot go on. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  readonly alive: Check = () => this.#lost?.message;

  readonly ready: Check = () =>
    this.#stopping ? "the operator is stopping" : (this.#lost?.message ?? this.#caches());

  /** The caches are known from here on. */
  follow(caches: Check): void {
    this.#caches = caches;
  }

  lose(error: Error): void {
    this.#lost = error;
  }

  stop(): void {
    this.#stopping = true;
  }
}
