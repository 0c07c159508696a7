/** What the embedded cluster promises, and how it was kept. */
import type { Machine } from "./machine.ts";

export interface Result {
  readonly measured: string;
  /** Why the promise is broken; undefined when it is kept. */
  readonly broken?: string;
}

export interface Scenario {
  readonly id: string;
  readonly promise: string;
  run(machine: Machine, say: (sentence: string) => void): Promise<Result>;
}
