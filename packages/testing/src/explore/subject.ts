/** An operator as the explorer knows it: how to run it against a simulated application, what users do, what must hold. */
import type { AnyController, PolicyRule } from "@keelson/runtime";
import type { Application } from "../simulation/process.ts";
import type { ApplicationParts, Simulation } from "../simulation/simulation.ts";
import type { Disturbance } from "./disturbance.ts";
import type { Clients } from "./load.ts";
import type { Oracle } from "./oracle.ts";
import type { Identity } from "./scene.ts";
import type { World } from "./world.ts";

/** Brings a new world to rest somewhere. */
export type Beginning<A extends Application = Application> = {
  bivariant(world: World<A>): Promise<void>;
}["bivariant"];

export interface Subject<A extends Application = Application> extends Identity {
  /** The operator's controllers as in production, with clients that call over the simulated network. */
  controllers(simulation: () => Simulation<A>): readonly AnyController[];
  /** What controllers may do that others start at run time, beside what the given ones may. */
  readonly rules?: readonly PolicyRule[];
  application(parts: ApplicationParts): A;
  /** What the garbage collector looks at, beside the usual kinds: `etcd.keelson.dev/etcdclusters`. */
  readonly collected: readonly string[];
  /** Where scenarios begin, by name. Each brings a world to rest. */
  readonly beginnings: Readonly<Record<string, Beginning<A>>>;
  /** What users do: edits of the spec, deletions, approvals. Each must leave a spec that `makeFeasible` can correct. */
  readonly edits: readonly Disturbance<A>[];
  /** Faults that only this application has. */
  readonly faults?: readonly Disturbance<A>[];
  /** Disturbances of the general list that make no sense here, by name. */
  readonly without?: readonly string[];
  /** All disturbances are over: leaves a spec that can be reached. */
  makeFeasible(world: World<A>): Promise<void>;
  /** Whether the spec is reached: undefined, or what is missing, as a sentence. */
  missing(world: World<A>): string | undefined | Promise<string | undefined>;
  /** The application's clients. */
  readonly client: Clients<A>;
  /** Whether acknowledged data may be gone by now: so much was destroyed, and a person agreed. */
  mayHaveLost?(world: World<A>): boolean;
  /**
   * Does what the status advises a person to do, and tells what that was; undefined when it advises nothing. Asked when
   * nothing moves any more.
   */
  followAdvice?(world: World<A>): Promise<string | undefined>;
  /** Words that name what a person can do with the application's own tools: `/etcdctl/`. */
  readonly remedies?: RegExp;
  readonly oracles: readonly Oracle<A>[];
  /** What may be left of an object that was deleted: `persistentvolumeclaims`. */
  keeps?(world: World<A>): readonly string[];
}
