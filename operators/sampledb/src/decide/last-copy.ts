/** Where the data is of a database that is about to go: what was decided last may not have been recorded. Pure. */
import type { Status } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import { leaderOf } from "../engine/leader.ts";
import type { ClaimView } from "../observe/observed.ts";
import { isKnown, isOpen } from "./lineage.ts";

type Known = Pick<Status, "primary" | "epoch" | "leadership" | "promotion">;

interface Answering {
  readonly name: string;
  readonly facts: ServerFacts;
}

/** The primary: the one that is recorded, or the one that has taken over from it. Undefined when nobody is known to lead. */
export function leaderToCopy(
  { primary, leadership, promotion }: Known,
  servers: readonly Answering[],
): string | undefined {
  const leader = leaderOf(servers);
  const isRecorded = leader?.name === primary;
  const isPromoted = leader?.name === promotion?.server && leader?.facts.runId === promotion?.runId;
  const hasTakenOver =
    leadership !== undefined && leader?.facts.secondReplicationId === leadership.replicationId;
  // The status may be of an earlier time.
  const isLater =
    leader && leadership && isKnown(leadership, leader.facts.replicationId) === false && isOpen(leader.facts);
  if (leader && (isRecorded || isPromoted || hasTakenOver || isLater)) return leader.name;
  return servers.find(({ name, facts }) => name === primary && facts.role === "primary")?.name;
}

/** The claim with the newest data, as the claims say, and the status of those that were not marked yet. */
export function claimToRead<T extends ClaimView>(
  { epoch = 0, leadership, promotion }: Known,
  claims: readonly T[],
): T | undefined {
  const rank = ({ uid, primaryEpoch = 0 }: T) =>
    Math.max(
      primaryEpoch,
      uid === leadership?.claimUid ? epoch : 0,
      uid === promotion?.claimUid ? promotion.epoch : 0,
    );
  return claims
    .filter((claim) => !claim.deleting && !claim.lost && claim.bound)
    .filter((claim) => (claim.epoch === undefined ? rank(claim) > 0 : claim.epoch > 0))
    .sort((a, b) => rank(b) - rank(a) || (b.epoch ?? 0) - (a.epoch ?? 0))[0];
}
