/** Looks outside for each object, again and again, and brings the object back when what it sees has changed. */
import { type Cancel, type Clock, deepEqual, type JsonValue, type Random, type Stored } from "@keelson/core";
import type { Informer } from "../cache/informer.ts";
import type { Cause } from "../controller/context.ts";
import type { PollRead } from "../controller/declaration.ts";
import type { Logger } from "../log/logger.ts";

export interface PollersOptions {
  readonly primary: Informer;
  readonly polls: ReadonlyMap<string, PollRead<Stored>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What is seen of one object through one poll. */
interface Look {
  value: JsonValue | undefined;
  generation: number | undefined;
  timer: Cancel | undefined;
  underWay: boolean;
  /** The object changed while a look was under way. */
  again: boolean;
}

/** Looks at once, over all objects and polls: what is outside has its limits too. */
const looksAtOnce = 16;

export class Pollers {
  readonly #options: PollersOptions;
  readonly #looks = new Map<string, Look>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #stop: AbortController | undefined;

  constructor(options: PollersOptions) {
    this.#options = options;
  }

  /** What was last seen; undefined before the first look. */
  value(slot: string, key: string): JsonValue | undefined {
    return this.#looks.get(idOf(slot, key))?.value;
  }

  /** Looks from now on, until the returned function is called. */
  start(enqueue: (key: string, cause: Cause) => void): () => void {
    const { primary } = this.#options;
    const stop = new AbortController();
    this.#stop = stop;
    const follow = (key: string) => {
      for (const slot of this.#options.polls.keys()) this.#follow(slot, key, enqueue);
    };
    const unsubscribe = primary.onChange(({ type, key }) => {
      if (type === "deleted") this.#forget(key);
      else follow(key);
    });
    for (const key of primary.cache.keys()) follow(key);
    return () => {
      unsubscribe();
      stop.abort();
      for (const { timer } of this.#looks.values()) timer?.();
    };
  }

  #follow(slot: string, key: string, enqueue: (key: string, cause: Cause) => void): void {
    const id = idOf(slot, key);
    const generation = this.#options.primary.cache.get(key)?.metadata.generation;
    const known = this.#looks.get(id);
    if (known && known.generation === generation) return;
    const look = known ?? { value: undefined, generation, timer: undefined, underWay: false, again: false };
    look.generation = generation;
    this.#looks.set(id, look);
    if (look.underWay) look.again = true;
    else void this.#look(slot, key, look, enqueue);
  }

  #forget(key: string): void {
    for (const slot of this.#options.polls.keys()) {
      this.#looks.get(idOf(slot, key))?.timer?.();
      this.#looks.delete(idOf(slot, key));
    }
  }

  async #look(
    slot: string,
    key: string,
    look: Look,
    enqueue: (key: string, cause: Cause) => void,
  ): Promise<void> {
    const { primary, polls, clock, random, log } = this.#options;
    const { everyMs, look: see } = polls.get(slot) as PollRead<Stored>;
    const signal = (this.#stop as AbortController).signal;
    look.timer?.();
    look.underWay = true;
    await this.#place();
    try {
      const object = primary.cache.get(key);
      if (!object || signal.aborted) return;
      const value = await see(object, { signal, clock });
      if (signal.aborted || this.#looks.get(idOf(slot, key)) !== look) return;
      if (!deepEqual(value, look.value)) {
        look.value = value;
        enqueue(key, { type: "poll", kind: slot, key });
      }
    } catch (error) {
      // What was seen before stands: an outside that is away is no change.
      if (!signal.aborted) log.warn("a poll failed and is tried again", { poll: slot, key, error });
    } finally {
      look.underWay = false;
      this.#leave();
      if (!signal.aborted && this.#looks.get(idOf(slot, key)) === look) {
        const waitMs = look.again ? 0 : everyMs * (0.95 + 0.1 * random.next());
        look.again = false;
        look.timer = clock.timer(waitMs, () => void this.#look(slot, key, look, enqueue));
      }
    }
  }

  async #place(): Promise<void> {
    if (this.#running < looksAtOnce) {
      this.#running++;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
  }
}

function idOf(slot: string, key: string): string {
  return `${slot}|${key}`;
}
