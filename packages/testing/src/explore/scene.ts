/** A scenario's world as every world has it, simulated or real: what the API server stores, time, and what was found. */
import type { ApiObject } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import type { AnyKind, Clock, Condition, ObjectRef } from "@keelson/core";
import type { PodObject } from "../simulation/process.ts";

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

/** Noted in a world where somebody destroyed data. */
export const destroyed = "destroyed";

/** One line of what happened. */
export interface TraceLine {
  readonly atMs: number;
  readonly text: string;
}

const longestTrace = 400;

/**
 * What can be done in any world. A disturbance or an edit that needs nothing else (`anywhere`) is played against simulated
 * and real processes alike. Positions in time (`atMs`) count from the beginning of the scenario.
 */
export abstract class Scene {
  readonly subject: Identity;
  readonly violations: Violation[] = [];
  readonly trace: TraceLine[] = [];
  /** What a subject or an oracle keeps between two looks. */
  readonly notes = new Map<string, unknown>();

  constructor(subject: Identity) {
    this.subject = subject;
  }

  /** An administrator's. */
  abstract get client(): Client;
  abstract get clock(): Clock;
  /** Milliseconds since the scenario began. */
  abstract get atMs(): number;
  /** Lets time pass. */
  abstract advance(ms: number): Promise<void>;
  /** The object that the scenario is about. */
  abstract get primary(): Primary | undefined;
  /** What the operator made, of one resource: `pods`. */
  abstract owned(resource: string): readonly ApiObject[];

  // -------------------------------------------------------------------------------------- what there is

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
