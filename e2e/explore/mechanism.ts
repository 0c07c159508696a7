/** How a disturbance of the explorer is done to real processes. */
import type { JsonObject } from "@keelson/core";
import type { End } from "@keelson/testing";
import type { RealScene } from "./real-scene.ts";

export interface Mechanism {
  /** Whether these arguments have a real counterpart. Default: all have. */
  readonly can?: (args: JsonObject, beginning: string) => boolean;
  /** Begins it; what is returned ends it. Default: as in a simulation, for what is done through the API server alone. */
  begin?(scene: RealScene, args: JsonObject): Promise<End | undefined>;
}

/** By the name of the disturbance. */
export type Mechanisms = Readonly<Record<string, Mechanism>>;
