/** Every row of the table, in its order. */

import type { Scenario } from "../scenario.ts";
import * as changes from "./changes.ts";
import { crashes } from "./crashes.ts";
import { deleting } from "./deleting.ts";
import { drills } from "./drills.ts";
import { gigabyte, restored } from "./large.ts";
import * as operator from "./operator.ts";
import * as servers from "./servers.ts";

export const scenarios: readonly Scenario[] = [
  servers.primaryDeleted,
  servers.primaryKilled,
  servers.primaryFrozen,
  servers.primaryCut,
  servers.nodeLost,
  servers.everyone,
  servers.everyoneKilled,
  servers.volumeLost,
  servers.diskFull,
  servers.handedOver,
  servers.drained,
  changes.upgraded,
  changes.upgradedAlone,
  changes.wentBack,
  changes.rotated,
  changes.certificates,
  changes.tlsSwitched,
  changes.settings,
  changes.scaled,
  changes.grown,
  changes.restoredInPlace,
  changes.badSpecs,
  restored,
  gigabyte,
  operator.operatorKilled,
  operator.operatorUpgraded,
  operator.operatorReinstalled,
  crashes,
  ...drills,
  ...deleting,
];
