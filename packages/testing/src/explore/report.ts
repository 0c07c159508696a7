/** What an exploration found, and how much it looked at. */
import type { Plan } from "./plan.ts";
import type { Violation } from "./scene.ts";

/** A scenario in which an oracle was violated. */
export interface Failure {
  readonly violation: Violation;
  /** As it was generated. */
  readonly generated: Plan;
  /** Shrunk: every step that is left is needed for the failure. */
  readonly plan: Plan;
  /** The shrunk scenario as a test to paste. */
  readonly test: string;
  /** What happened in the shrunk scenario, one line each. */
  readonly timeline: string;
}

/** The figures of an exploration. */
export interface ExploreReport {
  runs: number;
  /** Processor time of this process. */
  cpuMs: number;
  virtualMs: number;
  /** Writes of the operator to the API server. */
  writes: number;
  /** How many scenarios had so many disturbances under way at once. */
  readonly overlaps: Map<number, number>;
  /** Reasons of the condition Ready, each alone and with each disturbance that was under way (`Reason / disturbance`). */
  readonly states: Set<string>;
  /** The oracles that were checked, by name. */
  readonly oracles: Set<string>;
  readonly failures: Failure[];
  /** Longest virtual time from the last disturbance until the spec was reached. */
  slowestConvergenceMs: number;
  /** Longest virtual time without a successful write of a client that expected one. */
  longestOutageMs: number;
}
