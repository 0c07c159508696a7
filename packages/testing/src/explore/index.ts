/** Exploration of compound faults: scenarios from seeds, for any operator. */
export { type AnywhereDisturbance, anywhere, type Disturbance, type End } from "./disturbance.ts";
export { Beginnings, type ExploreOptions, explore, planOf, replay } from "./explore.ts";
export type { Clients, KeptData } from "./load.ts";
export type { Oracle } from "./oracle.ts";
export { atFraction, type Choice, type Plan, pick, randomFraction, type Step } from "./plan.ts";
export { disturbancesOf, type Played, type PlayOptions } from "./play.ts";
export { formatReport } from "./print.ts";
export type { ExploreReport, Failure } from "./report.ts";
export { type Identity, type Primary, Scene, type TraceLine, type Violation } from "./scene.ts";
export type { Beginning, Subject } from "./subject.ts";
export { World } from "./world.ts";
