/** An election from a candidate's side: everybody freezes, and the best of enough of them takes the lease. */
import { parseLsn } from "../ha/lsn.ts";
import { compareData, elect, type Quorum, type Vote } from "../ha/quorum.ts";
import { knowsMore, type LeaseRecord, type Published } from "../ha/state.ts";
import { targetQuorum } from "../ha/sync.ts";
import { collect } from "./asking.ts";
import type { Keeper } from "./keeper.ts";
import { othersIn } from "./others.ts";
import type { Clock, Engine, Peers } from "./ports.ts";

export interface CampaignOptions {
  readonly me: { readonly name: string };
  readonly engine: Engine;
  readonly peers: Peers;
  readonly keeper: Keeper;
  readonly clock: Clock;
}

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #me: string;
  /** Why nothing came of it, for people. */
  reason = "";
  /** Where we stand while we campaign: two candidates that ask each other must not wait for each other. */
  candidacy: Promise<Vote | undefined> | undefined;
  /** Until then it is left to others. */
  abstainUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#me = options.me.name;
  }

  /** Tries to become primary: everybody freezes, and the best of enough of them takes the lease. */
  async run(vote: Vote | undefined, promote: (record: LeaseRecord) => Promise<void>): Promise<void> {
    const { peers, engine, keeper } = this.#options;
    const { stored, lease } = keeper;
    this.reason = "campaign";
    if (!stored || !vote) {
      this.reason = "there is no primary, and its own data is not ready";
      return;
    }
    if (this.#options.clock.monotonic() < this.abstainUntilMs) {
      this.reason = "it was cut off as primary a moment ago, and leaves it to others";
      return;
    }
    const { record, version } = stored;
    const { quorums } = record.published;
    // Commits that wait for nobody are fenced by time alone; those that wait for us, by our receiving nothing.
    if (lease === "dead" && quorums.some(({ acks }) => acks < 2)) {
      this.reason = `${record.holder} is gone; its lease must run out`;
      return;
    }
    const names = othersIn(record, this.#me).filter((name) => lease !== "dead" || name !== record.holder);
    const seen = await collect(
      this.#options.clock,
      names.map((name) => peers.status(name)),
      (statuses) => this.#isElectable(record, [vote, ...statuses.map(({ vote }) => vote)]),
    );
    const better = seen.find((status) => knowsMore(status, record));
    if (better) {
      this.reason = `${better.name} knows more than the Lease`;
      return;
    }
    if (!this.#wins(record, [vote, ...seen.flatMap(({ vote }) => vote ?? [])])) return;
    const own = await keeper.vote({ candidate: this.#me, epoch: record.epoch, version });
    if (own !== true) {
      this.reason = own;
      return;
    }
    this.candidacy = engine.follow(undefined).then(() => engine.position());
    try {
      const mine = await this.candidacy;
      const isOver = () => keeper.stored?.version !== version;
      const answers = await collect(
        this.#options.clock,
        names.map(async (name) => {
          const answer = await peers.vote(name, { candidate: this.#me, epoch: record.epoch, version });
          // Perhaps somebody else has won, and waits for us to follow: who is silent need not be waited for then.
          if ("refused" in answer) await keeper.look().catch(() => undefined);
          return answer;
        }),
        (given) =>
          isOver() ||
          this.#isElectable(record, [
            mine,
            ...given.map((answer) => ("vote" in answer ? answer.vote : undefined)),
          ]),
      );
      if (isOver()) {
        this.reason = "the record has changed";
        return;
      }
      const votes = [
        ...(mine ? [mine] : []),
        ...answers.flatMap((answer) => ("vote" in answer ? answer.vote : [])),
      ];
      if (!mine || !this.#wins(record, votes)) return;
      if (!(await keeper.take(this.#succession(record, mine, votes, lease), version))) return;
      const now = keeper.stored?.record;
      if (now && keeper.isHolding) await promote(now);
    } finally {
      this.candidacy = undefined;
    }
  }

  /** Whether these are enough; where loss is accepted, whether all have voted but the primary that is gone. */
  #isElectable(record: LeaseRecord, votes: readonly (Vote | undefined)[]): boolean {
    const { quorums, systemId = "" } = record.published;
    const given = votes.filter((vote) => vote !== undefined);
    const accepts = record.policy.durability === "async" || isApproved(record, this.#me);
    if (accepts && given.length >= record.policy.instances.length - 1) return true;
    return "winner" in elect({ quorums, systemId, votes: given });
  }

  /** What the record says once we have taken over. */
  #succession(record: LeaseRecord, mine: Vote, votes: readonly Vote[], lease: string): Published {
    const { published, policy } = record;
    const { quorums, lsn } = published;
    const me = this.#me;
    const alive = votes.map(({ name }) => name).filter((name) => name !== me);
    const target = targetQuorum({ me, policy, alive, current: quorums.at(-1)?.members ?? [] });
    const isSafe = "winner" in elect({ quorums, systemId: mine.systemId, votes });
    const lost = lsn === undefined ? 0n : parseLsn(lsn) - mine.lsn;
    const earlier = untold(record);
    const reason = !isSafe && policy.durability !== "async" ? "approved" : lease;
    return dedupe({
      ...published,
      // What was promised and is lost need not be waited for; everything else is promised still.
      quorums: isSafe ? [...quorums, target] : [target],
      checkpointed: false,
      lastFailover: {
        epoch: record.epoch + 1,
        from: earlier?.from ?? record.holder,
        to: me,
        at: new Date(this.#options.clock.now()).toISOString(),
        lostBytes: (isSafe || lost < 0n ? 0 : Number(lost)) + (earlier?.lostBytes ?? 0),
        mayHaveLost: !isSafe || earlier !== undefined,
        reason: earlier?.reason ?? reason,
      },
    });
  }

  /** Whether we may take over with these votes. If not, the reason is kept for people, and a better one is called. */
  #wins(record: LeaseRecord, votes: readonly Vote[]): boolean {
    const mine = votes.find(({ name }) => name === this.#me);
    const best = this.#judge(record, votes);
    if (!best || !mine) return false;
    const { approval } = record.policy;
    const isForced = approval?.epoch === record.epoch && approval.instance === this.#me;
    if (isForced || compareData(best, mine) <= 0) return true;
    this.reason = `${best.name} has more`;
    void this.#options.peers.nudge(best.name).catch(() => undefined);
    return false;
  }

  /** Who wins with these votes; undefined, with the reason kept for people, when nobody may. */
  #judge(record: LeaseRecord, votes: readonly Vote[]): Vote | undefined {
    const { published, policy, holder } = record;
    const { quorums, systemId = "" } = published;
    const preferred = [this.#me];
    const safe = elect({ quorums, systemId, votes, preferred });
    if ("winner" in safe) return safe.winner;
    const lossy = elect({ quorums, systemId, votes, preferred, acceptLoss: true });
    if (!("winner" in lossy)) return undefined;
    if (isApproved(record, this.#me)) return lossy.winner;
    if (policy.durability === "async" && this.#options.keeper.lease !== "dead") {
      const best = this.#bestKnown(record, votes);
      if (!best) return undefined;
      const lag = published.lsn === undefined ? 0n : parseLsn(published.lsn) - best.lsn;
      if (lag <= BigInt(policy.maximumLagBytes)) return best;
      this.reason = `${holder || "the primary"} is gone, and ${lag} bytes of its log are nowhere else; approval is needed`;
      return undefined;
    }
    this.reason = `without ${safe.missing.join(", ")} there are ${safe.votes} of ${safe.needed} votes: a commit could be lost; approval is needed`;
    return undefined;
  }

  /**
   * Where commits wait for nobody, a holder that cannot reach the API server goes on if all whom it knows agree. Only they
   * can tell that it does not.
   */
  #bestKnown(record: LeaseRecord, votes: readonly Vote[]): Vote | undefined {
    const { holder, published } = record;
    const { quorums, systemId = "", instances } = published;
    const known = holder === "" || !instances ? votes : votes.filter(({ name }) => instances.includes(name));
    if (!known.some(({ name }) => name === this.#me)) {
      const [other] = known;
      this.reason = other
        ? `${holder} did not know of it, and ${other.name} can take over`
        : `${holder} did not know of it, and may go on without the API server; approval is needed`;
      return undefined;
    }
    const lossy = elect({ quorums, systemId, votes: known, preferred: [this.#me], acceptLoss: true });
    return "winner" in lossy ? lossy.winner : undefined;
  }
}

function isApproved({ policy, epoch }: LeaseRecord, name: string): boolean {
  const { approval } = policy;
  return approval?.epoch === epoch && (approval.instance === undefined || approval.instance === name);
}

/** What an epoch may have lost in which nobody came to serve: the next one is the first that clients see it in. */
function untold({ epoch, published }: LeaseRecord): Published["lastFailover"] {
  const { lastFailover, servingEpoch } = published;
  const isUntold = lastFailover?.epoch === epoch && servingEpoch !== epoch;
  return isUntold && lastFailover.mayHaveLost ? lastFailover : undefined;
}

/** The same promise need not be kept twice. */
function dedupe(published: Published): Published {
  const [newest, ...older] = [...published.quorums].reverse();
  if (!newest) return published;
  const key = ({ members, acks }: Quorum) => JSON.stringify([[...members].sort(), acks]);
  const rest = older.filter((quorum) => key(quorum) !== key(newest));
  return { ...published, quorums: [...rest.reverse(), newest] };
}
