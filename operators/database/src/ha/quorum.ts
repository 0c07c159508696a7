/** Which instances are sure to hold every acknowledged commit, and who may become primary because of it. */
import type { Lsn } from "./lsn.ts";

/**
 * A promise about commits: every one that was acknowledged is on disk on at least `acks` of `members`, the primary
 * among them. PostgreSQL keeps it by `synchronous_standby_names = ANY (acks - 1)` of the members that are not primary.
 */
export interface Quorum {
  readonly members: readonly string[];
  readonly acks: number;
}

/** What one instance says of its data once it receives nothing more. */
export interface Vote {
  readonly name: string;
  readonly systemId: string;
  readonly timeline: number;
  /**
   * The epoch whose primary began the timeline. It comes before the position, as the term does in Raft: two primaries may
   * give the same number to different timelines, but never in the same epoch.
   */
  readonly timelineEpoch: number;
  /** The end of what is on its disk: received or replayed, whichever is more. */
  readonly lsn: Lsn;
}

/** How many of the members must vote, so that one of any acknowledging set is among them: R + W > N. */
export function votesNeeded({ members, acks }: Quorum): number {
  return members.length - acks + 1;
}

export function isSameQuorum(a: Quorum, b: Quorum): boolean {
  return (
    a.acks === b.acks &&
    a.members.length === b.members.length &&
    a.members.every((name) => b.members.includes(name))
  );
}

export type Election =
  | { readonly winner: Vote }
  | {
      readonly missing: readonly string[];
      /** Votes that are there and votes that are needed, of the promise that lacks most. */
      readonly votes: number;
      readonly needed: number;
    };

export interface ElectionOptions {
  /** Every promise that some acknowledged commit may rely on: all of them must be met. */
  readonly quorums: readonly Quorum[];
  readonly systemId: string;
  readonly votes: readonly Vote[];
  /** Whom the votes are compared for, in this order when their data is equally good. */
  readonly preferred?: readonly string[];
  /** A person accepts that commits which nobody present holds are lost. */
  readonly acceptLoss?: boolean;
}

export function elect(options: ElectionOptions): Election {
  const { quorums, systemId, acceptLoss = false, preferred = [] } = options;
  const votes = options.votes.filter((vote) => vote.systemId === systemId);
  const present = new Set(votes.map(({ name }) => name));
  const lacking = quorums
    .map((quorum) => {
      const missing = quorum.members.filter((name) => !present.has(name));
      return { missing, votes: quorum.members.length - missing.length, needed: votesNeeded(quorum) };
    })
    .filter(({ votes: have, needed }) => have < needed)
    .sort((a, b) => b.needed - b.votes - (a.needed - a.votes));
  const [worst] = lacking;
  if (worst && !acceptLoss) return worst;
  // A stranger to every promise has no claim to hold what was promised, however far its log reaches.
  const members = new Set(quorums.flatMap((quorum) => quorum.members));
  const rank = (name: string) => (preferred.includes(name) ? preferred.indexOf(name) : preferred.length);
  const [winner] = votes
    .filter(({ name }) => acceptLoss || members.has(name))
    .sort((a, b) => compareData(b, a) || rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  return winner ? { winner } : { missing: [...members], votes: 0, needed: worst?.needed ?? 1 };
}

/** Negative when the first holds less. */
export function compareData(a: Vote, b: Vote): number {
  if (a.timelineEpoch !== b.timelineEpoch) return a.timelineEpoch - b.timelineEpoch;
  return a.lsn < b.lsn ? -1 : a.lsn > b.lsn ? 1 : 0;
}
