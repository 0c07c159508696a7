/** What goes wrong, and what must come of it. */
import type { Scenario } from "../bench.ts";
import { badSpecs, scaled, upgraded, upgradedFrom34 } from "./changes.ts";
import { compounds } from "./compound.ts";
import { stuckMembers } from "./compound-members.ts";
import { everythingLost, majorityLost, volumeCorrupted, volumeWiped } from "./data.ts";
import { lastBackups } from "./last-backups.ts";
import { apiServerGone, cuts, operatorBlind } from "./lines.ts";
import { operatorKilled, operatorReplaced } from "./operator.ts";
import { allPodsDeleted, followerDeleted, leaderDeleted, leaderFrozen, leaderKilled } from "./pods.ts";

/** In the order of the table. */
export const scenarios: readonly Scenario[] = [
  followerDeleted,
  leaderDeleted,
  leaderKilled,
  leaderFrozen,
  volumeWiped,
  volumeCorrupted,
  allPodsDeleted,
  majorityLost,
  scaled,
  upgraded,
  upgradedFrom34,
  ...cuts,
  operatorBlind,
  apiServerGone,
  badSpecs,
  operatorReplaced,
  operatorKilled,
  ...compounds,
  ...stuckMembers,
  ...lastBackups,
  everythingLost,
];
