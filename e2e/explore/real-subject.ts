/** An operator as it is explored on real processes. */
import type { JsonObject } from "@keelson/core";
import type { HistoryReport, Ledger } from "@keelson/kit/testing";
import type { Plan, Primary, Subject } from "@keelson/testing";
import type { Mechanisms } from "./mechanism.ts";
import type { RealCluster, RealScene } from "./real-scene.ts";

/** Clients that write all the time and remember what was acknowledged. */
export interface RealLoad {
  readonly ledger: Ledger;
  /** Stops, reads everything, and checks the history. */
  finish(): Promise<HistoryReport>;
  stop(): Promise<void>;
}

/** What all clients together try. */
export interface LoadAmount {
  readonly writers: number;
  readonly readers: number;
  readonly writesPerSecond: number;
}

/** Of any operator, as it is explored in virtual time. */
// biome-ignore lint/suspicious/noExplicitAny: what stands in for an operator's processes there is its own affair.
export type AnySubject = Subject<any>;

export interface RealSubject {
  readonly subject: AnySubject;
  /** Beginnings that real processes can be brought to. */
  readonly beginnings: readonly string[];
  /** How disturbances are done that need more than the API server. */
  readonly mechanisms: Mechanisms;
  /** Starts a cluster with the operator in it. */
  start(say: (sentence: string) => void): Promise<RealCluster & AsyncDisposable>;
  /** Makes what the scenario begins with, in a namespace that exists. */
  begin(scene: RealScene, beginning: string): Promise<void>;
  /** Default: little, so that what is measured is not speed. */
  load(scene: RealScene, amount?: LoadAmount): RealLoad;
  /** All disturbances are over: leaves a spec that can be reached. */
  makeFeasible(scene: RealScene): Promise<void>;
  /** What keeps the spec from being reached, as a sentence, judged by the processes too. */
  missing(scene: RealScene): Promise<string | undefined>;
  /** Does what the status advises a person to do. */
  followAdvice?(scene: RealScene): Promise<string | undefined>;
  /** Does what the status advises and what can do no harm while faults are under way. */
  tidy?(scene: RealScene): Promise<string | undefined>;
  /** Whether a scenario changes what the next one's beginning needs. Default: none does. */
  isAlone?(plan: Plan): boolean;
  /** What must be the same in both worlds when everything has come to rest, beside the conditions. */
  outcome(primary: Primary): JsonObject;
}
