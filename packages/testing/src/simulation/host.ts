/** What the parts of a simulation share: the API server they write to, what it has stored, and time. */
import type { StoredObjects } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import { formatTime } from "@keelson/core";
import type { VirtualClock } from "../virtual-clock.ts";

export interface SimulationHost {
  /** An administrator's; no fault touches it. */
  readonly client: Client;
  readonly stored: StoredObjects;
  readonly clock: VirtualClock;
}

/** Now, as objects have it. */
export function timeOf({ clock }: SimulationHost): string {
  return formatTime(clock.now());
}

/** Does something after a while, unless the simulation has ended by then. */
export class Later {
  readonly #clock: VirtualClock;
  #stopped = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  after(ms: number, work: () => void | Promise<void>): void {
    this.#clock.timer(ms, () => {
      if (!this.#stopped) void work();
    });
  }

  stop(): void {
    this.#stopped = true;
  }
}

/** For writes that lost a race: the object has gone or changed, and what follows from that is on its way. */
export async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 404 && code !== 409 && code !== 422) throw error;
  }
}
