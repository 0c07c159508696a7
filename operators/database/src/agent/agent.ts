/** One instance of a database: keeps its PostgreSQL where the lease says it should be, with or without an operator. */

import { formatLsn } from "../ha/lsn.ts";
import type { Identity } from "../ha/observation.ts";
import { type Vote, votesNeeded } from "../ha/quorum.ts";
import { knowledgeOf, type LeaseRecord, type Published, pendingUpgrade } from "../ha/state.ts";
import { type Local, nextStep, type Step } from "../ha/step.ts";
import { standbyNames, targetQuorum } from "../ha/sync.ts";
import { Announcing } from "./announcing.ts";
import { Campaign } from "./campaign.ts";
import { DataReplacement } from "./data-replacement.ts";
import { Isolation } from "./isolation.ts";
import { Keeper, type KeeperOptions } from "./keeper.ts";
import { othersIn } from "./others.ts";
import {
  type Engine,
  Gone,
  type PeerStatus,
  type Pods,
  type Poolers,
  type Primaryship,
  type Replication,
  type Upstream,
  type VoteAnswer,
  type VoteRequest,
} from "./ports.ts";
import { Promises } from "./promises.ts";
import { RecordRecovery } from "./record-recovery.ts";
import { Switchover } from "./switchover.ts";

export interface AgentOptions extends KeeperOptions {
  readonly engine: Engine;
  readonly pods: Pods;
  readonly poolers?: Poolers;
}

/** How long a switchover waits for a standby that is fit. */
const wishMs = 30_000;
/** After so many starts in a row that failed, a primary leaves it to others. */
const startAttempts = 4;

/** Commits may be acknowledged because of these. */
const beginning: ReadonlySet<Step["step"]> = new Set([
  "startPrimary",
  "startStandby",
  "follow",
  "rewind",
  "clone",
]);

export class Agent {
  readonly me: Identity;
  readonly keeper: Keeper;
  readonly #options: AgentOptions;
  readonly #switchover: Switchover;
  readonly #campaign: Campaign;
  readonly #promises: Promises;
  readonly #isolation: Isolation;
  readonly #recovery: RecordRecovery;
  readonly #announcing: Announcing;
  readonly #replacement: DataReplacement;
  #local: Local;
  #hasLooked = false;
  #vote: Vote | undefined;
  #reason = "it starts";
  /** Something long is done with the data: a request is answered without waiting for it. */
  #isBusy = false;
  #isDraining = false;
  #engineTurn: Promise<unknown> = Promise.resolve();
  #primary: PeerStatus | undefined;
  #replication: Replication | undefined;
  #parameters = "";
  #floors: Readonly<{ [name: string]: string }> = {};
  #failedStarts = 0;
  /** So many starts in a row must fail before data is replaced. More after each time that it did not help. */
  #startPatience = startAttempts;
  #wish: { readonly id: string; readonly sinceMs: number } | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.me = options.me;
    this.keeper = new Keeper(options);
    this.#local = { name: options.me.name, server: "stopped" };
    this.#switchover = new Switchover({ ...options, keeper: this.keeper });
    this.#campaign = new Campaign({ ...options, keeper: this.keeper });
    this.#promises = new Promises({ ...options, keeper: this.keeper });
    this.#isolation = new Isolation({ ...options, keeper: this.keeper });
    this.#recovery = new RecordRecovery({ ...options, keeper: this.keeper });
    this.#announcing = new Announcing(options);
    this.#replacement = new DataReplacement({
      ...options,
      keeper: this.keeper,
      long: async (work) => await this.#long(work),
      inspect: async () => {
        this.#local = await options.engine.inspect();
        return this.#local;
      },
    });
    // Nothing is awaited here: the server is ended before anything else is done.
    this.keeper.onLost = () => {
      if (this.#local.inRecovery === false) void this.#options.engine.stop("kill").catch(() => undefined);
    };
  }

  /** What this instance tells others. */
  status(): PeerStatus {
    const { server, inRecovery, receiving = false, noRoom = false } = this.#local;
    const running = server === "running";
    return {
      ...this.me,
      role: running ? (inRecovery ? "standby" : "primary") : "none",
      serving: running && (inRecovery === true || this.keeper.isHolding) && !this.#isDraining,
      receiving,
      draining: this.#isDraining,
      ...(noRoom && { noRoom }),
      ...(running && !inRecovery && this.#replication && { limits: this.#replication.limits }),
      ...(this.#vote && !this.#isBusy && { vote: this.#vote }),
      ...knowledgeOf(this.keeper.known),
      isEmpty: this.isEmpty,
      reason: this.#reason,
    };
  }

  get record(): LeaseRecord | undefined {
    return this.keeper.stored?.record;
  }

  get local(): Local {
    return this.#local;
  }

  /** It has looked, and there is no data, or none that can be read. */
  get isEmpty(): boolean {
    return this.#hasLooked && (this.#local.data === undefined || this.#local.data.systemId === "");
  }

  get replication(): Replication | undefined {
    return this.#replication;
  }

  // ---------------------------------------------------------------------------------------- what others ask

  /** Freezes this instance for a candidate, and says what it has. */
  async answerVote(request: VoteRequest): Promise<VoteAnswer> {
    if (this.#isBusy) return { refused: "its data is being replaced" };
    const accepted = await this.keeper.vote(request);
    if (accepted !== true) return { refused: accepted };
    if (this.#campaign.candidacy) {
      const vote = await this.#campaign.candidacy;
      return vote ? { vote } : { refused: "its data is not consistent yet" };
    }
    return await this.#frozenVote();
  }

  async #frozenVote(): Promise<VoteAnswer> {
    return await this.#withEngine(async (): Promise<VoteAnswer> => {
      const { engine } = this.#options;
      const local = await engine.inspect();
      this.#local = local;
      if (local.server !== "running" || !local.inRecovery)
        return { refused: "its PostgreSQL is not a standby that runs" };
      await engine.follow(undefined);
      const vote = await engine.position();
      this.#vote = vote;
      return vote ? { vote } : { refused: "its data is not consistent yet" };
    });
  }

  /** Changes when the work has something new to do. */
  get situation(): string {
    const { holder, epoch, published } = this.record ?? {};
    return JSON.stringify([this.keeper.isHolding, this.keeper.lease, holder, epoch, published?.servingEpoch]);
  }

  /** Looks at the lease now, and acts on it. */
  async nudge(): Promise<void> {
    await this.keeper.round();
    await this.work();
  }

  /** Ends PostgreSQL, and gives primaryship away before if there is somebody to take it. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#withEngine(async () => {
      const { engine, log } = this.#options;
      this.#local = await engine.inspect();
      const isPrimary = this.#local.server === "running" && this.#local.inRecovery === false;
      const isUpgrading = this.record !== undefined && pendingUpgrade(this.record) !== undefined;
      if (isPrimary && this.keeper.isHolding && !isUpgrading) {
        const standbys = await engine.replication().catch(() => undefined);
        const given = await this.#switchover
          .run(undefined, standbys?.standbys ?? [])
          .catch((error: unknown) => ({ refused: String(error) }));
        if (given === true) return;
        log.info("nobody can take over", { reason: given.refused });
      }
      await engine.stop("fast");
      const upgrade = this.record && pendingUpgrade(this.record);
      const own = upgrade?.instance === this.me.name ? upgrade.id : undefined;
      if (isPrimary) {
        await this.keeper
          .handOver(undefined, (published) => stopped(published, this.record, own))
          .catch(() => undefined);
      }
    });
  }

  /** Stops PostgreSQL; the next round starts it again, as what it is. */
  async restart(): Promise<void> {
    await this.#withEngine(async () => await this.#options.engine.stop("fast"));
  }

  // ---------------------------------------------------------------------------------------- what it does by itself

  /** One round of looking at the own server and doing what is next. */
  async work(): Promise<Step | undefined> {
    if (this.#isDraining) return undefined;
    await this.#lookAtPrimary();
    return await this.#withEngine(async () => {
      const { engine } = this.#options;
      this.#local = await engine.inspect();
      this.#hasLooked = true;
      this.#vote =
        this.#local.server === "running" && this.#local.inRecovery ? await engine.position() : undefined;
      if ((await this.#leavesFullVolume()) || (await this.#endsSilent())) return undefined;
      await this.#configure();
      await this.#isolation
        .complain({ local: this.#local, vote: this.#vote, primary: this.#primary })
        .catch(() => undefined);
      let step = this.#decide();
      try {
        // What is read of the lease meanwhile may ask for something else.
        while (beginning.has(step.step) && !this.keeper.hasRemembered) {
          await this.keeper.remember();
          step = this.#decide();
        }
        if (step.step !== "serve" && step.step !== "wait") {
          this.#options.log.info(step.step, { ...step, epoch: this.record?.epoch, lease: this.keeper.lease });
        }
        await this.#act(step);
      } catch (error) {
        // What it does next is the same again: people need to know why that does not help.
        this.#reason = `${step.step} failed: ${(error as Error).message}`;
        throw error;
      }
      return step;
    });
  }

  /** From what is known now: nothing may be awaited between this and the beginning of what it says. */
  #decide(): Step {
    const step = nextStep({
      uid: this.me.uid,
      local: this.#local,
      record: this.record,
      lease: this.keeper.lease,
      holding: this.keeper.isHolding,
      frozen: this.keeper.isFrozen,
      primaryServes: this.#primary?.role === "primary" && this.#primary.serving,
      startsInVain: this.#failedStarts >= this.#startPatience,
    });
    this.#reason = step.step === "wait" ? step.reason : step.step;
    return step;
  }

  /** Every instance has the settings of the spec, whichever is primary. */
  async #configure(): Promise<void> {
    const { parameters, closed = false } = this.record?.policy ?? {};
    if (!parameters || !this.#local.data) return;
    // While no primary is seen, a standby keeps what it has.
    const isPrimary = this.#local.inRecovery === false;
    if (!isPrimary) this.#floors = this.#primary?.limits ?? this.#floors;
    const configuration = { parameters, closed, floors: isPrimary ? {} : this.#floors };
    const text = JSON.stringify(configuration);
    if (text === this.#parameters) return;
    await this.#options.engine.configure(configuration);
    this.#parameters = text;
  }

  async #act(step: Step): Promise<void> {
    const { engine } = this.#options;
    const record = this.record;
    switch (step.step) {
      case "wait":
        return;
      case "stop":
        return await engine.stop(step.how);
      case "giveUp":
        await this.keeper.handOver(undefined, (published) => stopped(published, record, step.upgrade));
        return;
      case "claim":
        return await this.#claim();
      case "recoverRecord":
        if (await this.#recovery.run(this.status())) await this.#claim();
        else this.#reason = this.#recovery.reason;
        return;
      case "initialise":
        return await this.#long(() => engine.initialise());
      case "startPrimary":
        if (record) await this.#startPrimary(record);
        return;
      case "startStandby":
        return await this.#startStandby(step.upstream);
      case "follow":
        return await engine.follow(this.#upstream(step.upstream));
      case "rewind":
        return await this.#long(() => engine.rewind(this.#upstream(step.from)));
      case "clone":
        await this.#long(() => engine.clone(this.#upstream(step.from), step.reason));
        if (this.#failedStarts >= this.#startPatience) this.#startPatience *= 4;
        this.#failedStarts = 0;
        return;
      case "promote":
        if (record) await this.#promote(record);
        return;
      case "campaign":
        await this.#campaign.run(this.#vote, async (now) => await this.#promote(now));
        if (!this.keeper.isHolding) this.#reason = this.#campaign.reason;
        return;
      case "upgrade":
        if (record) await this.#replacement.run(record);
        return;
      case "serve":
        return await this.#serve();
    }
  }

  /** The first holder of a new database, or the last one before its data is replaced: what was promised stays promised. */
  async #claim(): Promise<void> {
    const stored = this.keeper.stored;
    if (!stored) return;
    const { published, epoch } = stored.record;
    const { stoppedFor } = published;
    const next = stoppedFor ? { ...published, stoppedFor: { ...stoppedFor, epoch: epoch + 1 } } : published;
    await this.keeper.take(next, stored.version);
  }

  async #startStandby(upstream: string | undefined): Promise<void> {
    const { engine } = this.#options;
    try {
      await engine.startStandby(upstream === undefined ? undefined : this.#upstream(upstream));
    } finally {
      this.#local = await engine.inspect();
      const isThere = this.#local.server !== "stopped";
      this.#failedStarts = isThere ? 0 : this.#failedStarts + 1;
      if (this.#local.server === "running") this.#startPatience = startAttempts;
    }
  }

  /** A server that does not start, as on a full disk, is no reason for nobody to serve: others may have all it has. */
  async #startPrimary(record: LeaseRecord): Promise<void> {
    const { engine } = this.#options;
    const began = engine.startPrimary(this.#primaryship(record));
    const problem = await began.then(
      () => undefined,
      (error: unknown) => error,
    );
    // The lease may have been lost while it started, and nobody ended what did not run yet.
    if (!this.keeper.isHolding) await engine.stop("kill");
    this.#local = await engine.inspect();
    this.#failedStarts =
      problem === undefined && this.#local.server !== "stopped" ? 0 : this.#failedStarts + 1;
    const hasOthers = record.published.quorums.every(({ acks }) => acks > 1);
    if (this.#failedStarts >= startAttempts && hasOthers && !record.policy.paused) {
      this.#failedStarts = 0;
      return await this.#giveUp("its PostgreSQL does not start");
    }
    if (problem !== undefined) throw problem;
  }

  #primaryship({ epoch, published }: LeaseRecord): Primaryship {
    const { quorums, archived } = this.keeper.published ?? published;
    const newest = quorums.at(-1);
    return {
      epoch,
      synchronousNames: newest ? standbyNames(newest, this.me.name) : this.#cautious(),
      ...(archived !== undefined && { archived }),
    };
  }

  /** While nothing is published yet, commits wait for whom they will have to wait. */
  #cautious(): string {
    const { policy } = this.record as LeaseRecord;
    return standbyNames(targetQuorum({ me: this.me.name, policy, alive: [], current: [] }), this.me.name);
  }

  #upstream(name: string): Upstream {
    const { timeline = 0, timelineEpoch = 0 } = this.record?.published ?? {};
    return { name, timeline, timelineEpoch };
  }

  async #promote(record: LeaseRecord): Promise<void> {
    const { engine } = this.#options;
    this.#announcing.begin();
    this.#promises.begin();
    await this.keeper.remember();
    if (!this.keeper.isHolding) return;
    await engine.promote(this.#primaryship(record));
    if (!this.keeper.isHolding) await engine.stop("kill");
    this.#local = await engine.inspect();
    await this.#serve();
  }

  // ---------------------------------------------------------------------------------------- as primary

  async #serve(): Promise<void> {
    const { engine, log } = this.#options;
    const { data } = this.#local;
    const record = this.record;
    if (!data || !record || !this.keeper.isHolding || this.#local.inRecovery !== false) return;
    // Clients find it while others learn of it: neither waits for the other.
    const labelled = this.#announcing.label(record);
    const { published, policy } = record;
    const isPublished =
      published.timeline === data.timeline &&
      published.timelineEpoch === data.timelineEpoch &&
      published.servingEpoch === record.epoch;
    if (!isPublished) {
      const { systemId, timeline, timelineEpoch } = data;
      const next = { systemId, timeline, timelineEpoch, servingEpoch: record.epoch, checkpointed: false };
      if (!(await this.keeper.update((now) => ({ ...now, ...next })))) return;
      // Commits wait for them: they need not wait for their next round.
      for (const name of othersIn(record, this.me.name))
        void this.#options.peers.nudge(name).catch(() => undefined);
      await labelled;
      return await this.#serve();
    }
    this.#announcing.pointPoolers(record);
    await labelled;
    const replication = await engine.replication();
    this.#replication = replication;
    this.keeper.lsn = formatLsn(replication.lsn);
    this.keeper.archived = replication.archived;
    await this.#promises.keep(replication, record);
    if (await this.#isolation.isCutOff(replication))
      return await this.#giveUp("no standby reaches this primary, though they are well");
    if (!published.checkpointed) {
      await engine.checkpoint();
      await this.keeper.update((now) => ({ ...now, checkpointed: true }));
    }
    const wish = policy.switchover;
    if (!wish || wish.id === published.switchover?.id || policy.paused) return;
    if (this.#wish?.id !== wish.id) this.#wish = { id: wish.id, sinceMs: this.#options.clock.monotonic() };
    const outcome = await this.#switchover.run(wish.to, replication.standbys, wish.id);
    if (outcome === true) return;
    // Standbys come back by themselves: nobody should have to ask twice because one was just starting.
    const isEarly = this.#options.clock.monotonic() - this.#wish.sinceMs < wishMs;
    if (outcome.isPassing && isEarly) return;
    log.warn("the switchover is refused", { reason: outcome.refused });
    await this.keeper.update((now) => ({
      ...now,
      switchover: { id: wish.id, outcome: "Refused", message: outcome.refused },
    }));
  }

  /** A primary that cannot write serves nobody, and may hold the lease for ever: those that have room take over. */
  async #leavesFullVolume(): Promise<boolean> {
    const record = this.record;
    const { isFull, inRecovery } = this.#local;
    if (!isFull || inRecovery !== false || !record || !this.keeper.isHolding) return false;
    if (record.policy.paused || pendingUpgrade(record)) return false;
    const canElect = await this.#othersCanElect(record);
    if (canElect) await this.#giveUp("its volume is full");
    return canElect;
  }

  /** A server that hangs serves nobody, and its primary would hold the lease for ever: it is ended, and started again or left to others. */
  async #endsSilent(): Promise<boolean> {
    const record = this.record;
    const { isSilent = false, inRecovery } = this.#local;
    if (!isSilent || !record || record.policy.paused) return false;
    const reason = "its PostgreSQL does not answer";
    this.#reason = reason;
    const isPrimary = inRecovery === false && this.keeper.isHolding && !pendingUpgrade(record);
    if (isPrimary && (await this.#othersCanElect(record))) await this.#giveUp(reason);
    else {
      this.#options.log.warn("PostgreSQL is ended", { reason });
      await this.#options.engine.stop("kill");
    }
    return true;
  }

  /** Whether all that was promised can be found without this instance, by those that have room. */
  async #othersCanElect(record: LeaseRecord): Promise<boolean> {
    const names = othersIn(record, this.me.name);
    const statuses = await Promise.all(
      names.map(async (name) => await this.#options.peers.status(name).catch(() => undefined)),
    );
    const fit = statuses.flatMap((each) => (each?.vote && each.noRoom !== true ? [each.name] : []));
    return record.published.quorums.every(
      (quorum) =>
        quorum.acks > 1 && quorum.members.filter((name) => fit.includes(name)).length >= votesNeeded(quorum),
    );
  }

  /** Leaves primaryship to those who can reach each other. They elect as always, so nothing is lost. */
  async #giveUp(reason: string): Promise<void> {
    const { engine, clock, timings, log } = this.#options;
    log.warn("it gives up", { reason });
    this.#isolation.over();
    this.#campaign.abstainUntilMs = clock.monotonic() + timings.abstainMs;
    await engine.stop("kill");
    await this.keeper.handOver(undefined, (published) => published);
  }

  // ---------------------------------------------------------------------------------------- as standby

  /** Asks the holder how it is: whether it serves, and whether it is there at all. */
  async #lookAtPrimary(): Promise<void> {
    const record = this.record;
    const { peers, pods } = this.#options;
    if (!record || record.holder === "" || record.holder === this.me.name) {
      this.#primary = undefined;
      return;
    }
    const { holder, holderUid } = record;
    try {
      this.#primary = await peers.status(holder);
      this.keeper.holderGone(this.#primary.uid !== holderUid);
    } catch (error) {
      this.#primary = undefined;
      const gone = error instanceof Gone || (await pods.isGone(holder, holderUid).catch(() => false));
      this.keeper.holderGone(gone);
    }
  }

  async #long<T>(work: () => Promise<T>): Promise<T> {
    this.#isBusy = true;
    this.#vote = undefined;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }

  /** One at a time. What is long says so, and is not waited for by those who ask. */
  async #withEngine<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#engineTurn.then(work, work);
    this.#engineTurn = turn.catch(() => undefined);
    return await turn;
  }
}

/** What is published when the primary has stopped for an upgrade, or for no particular reason. */
function stopped(
  published: Published,
  record: LeaseRecord | undefined,
  upgrade: string | undefined,
): Published {
  return upgrade === undefined || !record
    ? published
    : { ...published, stoppedFor: { upgrade, epoch: record.epoch } };
}
