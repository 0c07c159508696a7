/** Everything that can happen to any operator. */
import type { Disturbance } from "../disturbance.ts";
import { apiDisturbances } from "./api.ts";
import { lineDisturbances } from "./lines.ts";
import { managerDisturbances } from "./managers.ts";
import { objectDisturbances } from "./objects.ts";
import { podDisturbances } from "./pods.ts";
import { timeDisturbances } from "./time.ts";

export { handOver } from "./objects.ts";

export const generalDisturbances: readonly Disturbance[] = [
  ...apiDisturbances,
  ...managerDisturbances,
  ...podDisturbances,
  ...lineDisturbances,
  ...objectDisturbances,
  ...timeDisturbances,
];
