/** One run as disturbances and oracles see it: the simulation, the subject, what happens, and what was found. */
import type { ApiObject, StoredObjects } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import type { Application } from "../simulation/process.ts";
import type { Simulation } from "../simulation/simulation.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { LogCapture } from "./log-capture.ts";
import type { Step } from "./plan.ts";
import { type Identity, type Primary, Scene } from "./scene.ts";

/** Put by the runtime on everything that a controller makes. */
const controllerLabel = "keelson.dev/controller";

/** A scenario while it is played in a simulation. Disturbances change it, oracles look at it. */
export class World<A extends Application = Application> extends Scene {
  readonly simulation: Simulation<A>;
  readonly logs: LogCapture;
  /** Disturbances that are under way. */
  readonly active = new Set<Step>();
  /** Until then nothing is held against the status: the operator could not know better, or say so. */
  blindUntilMs = 0;
  readonly #startMs: number;

  constructor(simulation: Simulation<A>, subject: Identity, logs = new LogCapture()) {
    super(subject);
    this.simulation = simulation;
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

  get atMs(): number {
    return this.clock.monotonic() - this.#startMs;
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  get primary(): Primary | undefined {
    const { resource, ref } = this.subject;
    return this.stored.get(resource, ref.name, ref.namespace) as unknown as Primary | undefined;
  }

  owned(resource: string): readonly ApiObject[] {
    return this.stored
      .list(resource, this.subject.ref.namespace)
      .filter(({ metadata }) => metadata.labels?.[controllerLabel] !== undefined);
  }
}
