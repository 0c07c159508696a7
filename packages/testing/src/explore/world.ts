/** One run as disturbances and oracles see it: the simulation, the subject, what happens, and what was found. */
import type { ApiObject, StoredObjects } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import type { AnyKind, Condition, ObjectRef } from "@keelson/core";
import type { Application, PodObject } from "../simulation/process.ts";
import type { Simulation } from "../simulation/simulation.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { LogCapture } from "./log-capture.ts";
import type { Step } from "./plan.ts";

/** The primary object, as far as explorers care. */
export interface Primary {
  readonly metadata: ApiObject["metadata"];
  readonly spec?: Record<string, unknown>;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly [key: string]: unknown;
  };
}

/** The object that scenarios are about. */
export interface Identity {
  /** As on the command line: `etcd`. */
  readonly name: string;
  /** The resource under test. */
  readonly kind: AnyKind;
  /** As it is stored: `etcd.keelson.dev/etcdclusters`. */
  readonly resource: string;
  readonly ref: ObjectRef & { readonly namespace: string };
  /** Conditions that its status always has. Default: Ready, Reconciling and Stalled, as the runtime writes them. */
  readonly conditions?: readonly string[];
}

/** What an oracle found. */
export interface Violation {
  readonly oracle: string;
  readonly message: string;
  /** Milliseconds since the scenario began. */
  readonly atMs: number;
}

/** One line of what happened. */
export interface TraceLine {
  readonly atMs: number;
  readonly text: string;
}

const longestTrace = 400;
/** Put by the runtime on everything that a controller makes. */
const controllerLabel = "keelson.dev/controller";

/**
 * A scenario while it is played. Disturbances change it, oracles look at it. Positions in time (`atMs`) count from the
 * beginning of the scenario.
 */
export class World<A extends Application = Application> {
  readonly simulation: Simulation<A>;
  readonly subject: Identity;
  readonly logs: LogCapture;
  readonly violations: Violation[] = [];
  readonly trace: TraceLine[] = [];
  /** Disturbances that are under way. */
  readonly active = new Set<Step>();
  /** What a subject or an oracle keeps between two looks. */
  readonly notes = new Map<string, unknown>();
  /** Until then nothing is held against the status: the operator could not know better, or say so. */
  blindUntilMs = 0;
  readonly #startMs: number;

  constructor(simulation: Simulation<A>, subject: Identity, logs = new LogCapture()) {
    this.simulation = simulation;
    this.subject = subject;
    this.logs = logs;
    this.#startMs = simulation.clock.monotonic();
  }

  get application(): A {
    return this.simulation.application;
  }

  get client(): Client {
    return this.simulation.client;
  }

  get clock(): VirtualClock {
    return this.simulation.clock;
  }

  get stored(): StoredObjects {
    return this.simulation.stored;
  }

  /** Milliseconds since the scenario began. */
  get atMs(): number {
    return this.clock.monotonic() - this.#startMs;
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  // -------------------------------------------------------------------------------------- what there is

  /** The object that the scenario is about. */
  get primary(): Primary | undefined {
    const { resource, ref } = this.subject;
    return this.stored.get(resource, ref.name, ref.namespace) as unknown as Primary | undefined;
  }

  condition(type: string): Condition | undefined {
    return this.primary?.status?.conditions?.find((each) => each.type === type);
  }

  /** The generation that its status speaks of: as it says itself, else as its condition Ready does. */
  get observedGeneration(): number | undefined {
    return this.primary?.status?.observedGeneration ?? this.condition("Ready")?.observedGeneration;
  }

  /** Ready for its current generation. */
  get isReady(): boolean {
    return (
      this.condition("Ready")?.status === "True" &&
      this.observedGeneration === this.primary?.metadata.generation
    );
  }

  /** What the operator made, of one resource: `pods`. */
  owned(resource: string): readonly ApiObject[] {
    return this.stored
      .list(resource, this.subject.ref.namespace)
      .filter(({ metadata }) => metadata.labels?.[controllerLabel] !== undefined);
  }

  /** The pods that it made and that are to stay, by name. */
  get pods(): readonly PodObject[] {
    return this.owned("pods") as unknown as readonly PodObject[];
  }

  // -------------------------------------------------------------------------------------- what is found

  note(text: string): void {
    this.trace.push({ atMs: this.atMs, text });
    if (this.trace.length > longestTrace) this.trace.splice(0, 1);
  }

  violate(oracle: string, message: string): void {
    if (this.violations.some((each) => each.oracle === oracle)) return;
    this.violations.push({ oracle, message, atMs: this.atMs });
    this.note(`VIOLATION ${oracle}: ${message}`);
  }
}
