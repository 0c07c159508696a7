/** What every controller of one operator shares. */
import type { Client } from "@keelson/client";
import type { Clock, Random } from "@keelson/core";
import type { InformerSet } from "../cache/informer-set.ts";
import type { RunningControllers } from "../controller/context.ts";
import type { Logger } from "../log/logger.ts";
import type { Connector } from "./connector.ts";
import type { Stragglers } from "./deadline.ts";
import type { EventRecorder } from "./event-recorder.ts";

/** Controllers that come and go. */
export interface ControllersService {
  /** As one reconcile sees them: for as long as it runs. */
  within(run: { readonly signal: () => AbortSignal; readonly check: () => void }): RunningControllers;
}

export interface Services {
  /** Refuses writes once the lease is lost. */
  readonly client: Client;
  /** False once another process may lead: for what does not pass the client, calls to applications. */
  readonly mayWrite: () => boolean;
  readonly informers: InformerSet;
  readonly events: EventRecorder;
  readonly connect: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly controllers: ControllersService;
  /** Reconciles that were told to end and have not yet. */
  readonly stragglers: Stragglers;
  /** Kinds of which some controller keeps every object, as `Kind.group`. */
  readonly wholeKinds: ReadonlySet<string>;
  /** The only namespace to look at; all of them when absent. */
  readonly namespace?: string;
}
