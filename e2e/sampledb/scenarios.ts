/** Every row of the table, in its order. */
import * as servers from "./rows/servers.ts";
import type { Scenario } from "./scenario.ts";

export const scenarios: readonly Scenario[] = [
  servers.primaryDeleted,
  servers.primaryKilled,
  servers.primaryFrozen,
  servers.primaryCut,
  servers.nodeLost,
  servers.everyone,
  servers.everyoneKilled,
  servers.volumeLost,
  servers.handedOver,
];
