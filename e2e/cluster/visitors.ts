/** Visitors of a web server: each opens a connection of its own, and every answer is counted. */

import { get } from "node:http";
import { errorText } from "@keelson/core/internal";

export interface Visits {
  readonly answered: number;
  /** What went wrong, once each. */
  readonly failures: readonly string[];
}

export class Visitors {
  readonly #url: string;
  readonly #failures: string[] = [];
  #answered = 0;
  #stopped = false;
  readonly #walking: Promise<unknown>;

  /** `count` visitors at once, each with a pause between its visits. */
  constructor(url: string, count = 4, pauseMs = 10) {
    this.#url = url;
    this.#walking = Promise.all(Array.from({ length: count }, () => this.#walk(pauseMs)));
  }

  get answered(): number {
    return this.#answered;
  }

  async stop(): Promise<Visits> {
    this.#stopped = true;
    await this.#walking;
    return { answered: this.#answered, failures: this.#failures };
  }

  async #walk(pauseMs: number): Promise<void> {
    while (!this.#stopped) {
      try {
        const status = await visit(this.#url);
        if (status !== 200) throw new Error(`status ${status}`);
        this.#answered++;
      } catch (error) {
        this.#failures.push(errorText(error));
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** The status of one request over a connection of its own. */
export function visit(url: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = get(url, { agent: false, timeout: 5_000 }, (response) => {
    response.resume();
    response.once("end", () => resolve(response.statusCode ?? 0));
    response.once("error", reject);
  });
  request.once("timeout", () => request.destroy(new Error("no answer in 5 s")));
  request.once("error", reject);
  return promise;
}
