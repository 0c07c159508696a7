/** One kind of thing that can go wrong, or that someone does. */
import type { JsonObject } from "@keelson/core";
import type { Application } from "../simulation/process.ts";
import type { Choice } from "./plan.ts";
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
  /** Begins it; what is returned ends it. Choices that depend on the world are made now. */
  begin(world: World<A>, args: JsonObject): Begun | Promise<Begun>;
}
