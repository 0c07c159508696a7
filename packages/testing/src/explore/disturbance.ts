/** One kind of thing that can go wrong, or that someone does. */
import type { JsonObject } from "@keelson/core";
import type { Application } from "../simulation/process.ts";
import type { Choice } from "./plan.ts";
import type { Scene } from "./scene.ts";
import type { World } from "./world.ts";

/** Ends what lasts. */
export type End = () => void | Promise<void>;
// biome-ignore lint/suspicious/noConfusingVoidType: what happens at once returns nothing.
type Begun = End | undefined | void;

/**
 * A fault, or an edit of a user. It has a name by which scenarios refer to it, and chooses its arguments from a seed, so
 * that a scenario is data. With `lastsMs` it lasts for a random time of at most that, and `begin` returns what ends it.
 */
export interface Disturbance<A extends Application = Application> extends Choice {
  /** While it lasts the operator cannot know or say how things are: its status is not held against it. */
  readonly blinds?: boolean;
  /** It is done through the API server alone, and so in a simulation and with real processes alike. Default: false. */
  readonly anywhere?: boolean;
  /** Begins it; what is returned ends it. Choices that depend on the world are made now. */
  begin(world: World<A>, args: JsonObject): Begun | Promise<Begun>;
}

/** A disturbance that can be played in any world. */
export interface AnywhereDisturbance extends Choice {
  readonly blinds?: boolean;
  readonly anywhere: true;
  begin(scene: Scene, args: JsonObject): Begun | Promise<Begun>;
}

/** Marks what is done through the API server alone. */
export function anywhere(disturbance: Omit<AnywhereDisturbance, "anywhere">): AnywhereDisturbance {
  return { ...disturbance, anywhere: true };
}
