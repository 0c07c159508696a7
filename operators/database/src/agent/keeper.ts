/** Holds the lease for its instance, watches it otherwise, and tells the guard how long PostgreSQL may go on. */
import { type Identity, Observation } from "../ha/observation.ts";
import { votesNeeded } from "../ha/quorum.ts";
import {
  knowledgeOf,
  knowsMore,
  type LeaseRecord,
  type Published,
  type StoredRecord,
  type Timings,
} from "../ha/state.ts";
import type { LeaseView } from "../ha/step.ts";
import { collect } from "./asking.ts";
import { othersIn } from "./others.ts";
import {
  type Claim,
  type Clock,
  Conflict,
  type FailsafeRequest,
  type Guard,
  type LeaseStore,
  type Log,
  type Memory,
  type Peers,
  type Remembered,
  type VoteRequest,
} from "./ports.ts";

export interface KeeperOptions {
  readonly me: Identity;
  readonly lease: LeaseStore;
  readonly peers: Peers;
  readonly guard: Guard;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly timings: Timings;
  readonly log: Log;
}

/** How the lease changes hands. */
export type Change = (published: Published) => Published;

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #observation: Observation;
  #hold: { readonly epoch: number; readonly deadlineMs: number } | undefined;
  #remembered: Remembered = {};
  /** What of it is on the volume. */
  #saved: Remembered = this.#remembered;
  #saving: Promise<unknown> = Promise.resolve();
  #lastSuccessMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<unknown> = Promise.resolve();
  #renewals = 0;
  #complaint = "";
  /** Since when we see a record that is older than what we know. */
  #oldSinceMs: number | undefined;
  /** The record was read after our vote was given, so what is stored is not older than it. */
  #readSinceVote = false;
  #votedAtMs = Number.NEGATIVE_INFINITY;
  /** Those whom we voted for do not say that they have won. */
  #isVain = false;
  /** We gave the lease away and do not know whether that happened: only a read can tell. */
  #isUncertain = false;
  /** What the end of the log was when PostgreSQL was asked last. */
  lsn: string | undefined;
  /** What it had archived by then. */
  archived: string | undefined;
  /** Called when the lease is found in another's hands. */
  onLost: () => void = () => {};

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#observation = new Observation(options.timings);
  }

  /** Reads what an earlier process of this instance knew. */
  async recall(): Promise<void> {
    this.#remembered = await this.#options.memory.read();
    this.#saved = this.#remembered;
  }

  get stored(): StoredRecord | undefined {
    return this.#observation.stored;
  }

  get lease(): LeaseView {
    // Of its own epoch the holder knows best, and puts it right when it renews.
    return this.#isOld && !this.isHolding ? "old" : this.#observation.lease(this.#now);
  }

  /** The newest record of this database that this volume knows. */
  get known(): LeaseRecord | undefined {
    const known = this.#remembered.stored?.record;
    const present = this.stored?.record;
    // A volume may come from a database of another name: its instances are nobody here.
    const isOther = known && present && known.policy.initialInstance !== present.policy.initialInstance;
    return isOther ? undefined : known;
  }

  /** The Lease was made again, or is that of an earlier time. */
  get #isOld(): boolean {
    const present = this.stored?.record;
    return present !== undefined && knowsMore(knowledgeOf(this.known), present);
  }

  get isHolding(): boolean {
    return this.#hold !== undefined && this.#now < this.#hold.deadlineMs;
  }

  /** A vote binds until the record is seen to have changed since, and that not to one of before somebody won with it. */
  get isFrozen(): boolean {
    const { vote } = this.#remembered;
    if (vote === undefined) return false;
    return !this.#hasChangedSince(vote) || (this.stored?.record.epoch === vote.epoch && !this.#isVain);
  }

  #hasChangedSince(vote: { readonly version: string }): boolean {
    return this.#readSinceVote && this.stored?.version !== vote.version;
  }

  /** See {@link Observation.isHolderGone}. */
  get isHolderGone(): boolean {
    return this.#observation.isHolderGone;
  }

  holderGone(gone: boolean): void {
    this.#observation.holderGone(gone, this.#now);
  }

  /** One round: renews what we hold, looks at what others hold. */
  async round(): Promise<void> {
    const before = this.stored;
    try {
      // Renewed without an answer it would only keep others waiting: one that has run out is looked at first.
      if (before && this.#isMine(before) && this.isHolding) await this.update((published) => published);
      else await this.look();
    } catch (error) {
      this.#complain((error as Error).message);
      await this.#withoutServer();
      return;
    }
    this.#complaint = "";
    const stored = this.stored;
    if (stored && !this.#hold && this.#isMine(stored)) await this.#resume(stored.record);
    await this.#reconsiderVote();
    await this.remember();
  }

  /** What an earlier process held, or what was given to us. If the Lease went back in time, that may have been long ago. */
  async #resume(record: LeaseRecord): Promise<void> {
    const { name } = this.#options.me;
    const isEnough = (heard: readonly string[]) =>
      record.published.quorums.every(
        (quorum) =>
          quorum.members.filter((each) => each === name || heard.includes(each)).length >=
          votesNeeded(quorum),
      );
    // Who is silent is not waited for: without those who voted no commit is acknowledged, and they ask too.
    const better = await this.#better(othersIn(record, name), record, isEnough);
    if (better === undefined) await this.update((published) => published);
    else this.#options.log.warn("it does not go on as primary", { reason: `${better} knows more` });
  }

  /** In the epoch out of which we voted the record may be that of before somebody won. That one can tell. */
  async #reconsiderVote(): Promise<void> {
    const { stored } = this;
    const { vote } = this.#remembered;
    if (!vote || !stored || !this.#hasChangedSince(vote) || stored.record.epoch !== vote.epoch) return;
    const candidates = (vote.candidates ?? []).filter((name) => name !== this.#options.me.name);
    const better = await this.#better(candidates, stored.record, () => false);
    if (better !== undefined || this.#remembered.vote !== vote) return;
    this.#isVain = true;
    this.#note();
  }

  /** Who of these says that it knows more than the record. */
  async #better(
    names: readonly string[],
    record: LeaseRecord,
    isEnough: (heard: readonly string[]) => boolean,
  ): Promise<string | undefined> {
    const { peers, clock } = this.#options;
    const statuses = await collect(
      clock,
      names.map(async (name) => await peers.status(name)),
      (heard) => isEnough(heard.map(({ name }) => name)),
    );
    return statuses.find((status) => knowsMore(status, record))?.name;
  }

  /** Once for each reason, however long it lasts. */
  #complain(error: string): void {
    if (error !== this.#complaint) this.#options.log.warn("the lease cannot be reached", { error });
    this.#complaint = error;
  }

  /** Reads the record now. */
  async look(): Promise<StoredRecord> {
    const askedAtMs = this.#now;
    const stored = await this.#options.lease.read();
    this.#seen(stored, askedAtMs);
    return stored;
  }

  /** Changes what is published, while we hold the lease; false when we do not. Renews it by the way. */
  async update(change: Change): Promise<boolean> {
    return await this.#alone(async () => {
      for (;;) {
        const stored = this.stored ?? (await this.look());
        if (!this.#isMine(stored)) return false;
        if (!this.#hold && this.#isOld) return false;
        // Whom we promised to leave alone may still act, though the record names us by now.
        if (!this.#hold && this.#observation.isPromised(this.#now)) return false;
        const { me } = this.#options;
        const published = {
          ...change(this.#newest(stored)),
          ...(this.lsn !== undefined && { lsn: this.lsn }),
          ...(this.archived !== undefined && { archived: this.archived }),
        };
        const written = await this.#write(
          { holder: me.name, holderUid: me.uid, epoch: stored.record.epoch, published },
          stored.version,
        );
        if (written) return true;
      }
    });
  }

  /** Takes the lease with a new epoch; false when somebody was faster. */
  async take(published: Published, version: string): Promise<boolean> {
    return await this.#begin(this.#options.me, published, version);
  }

  /** Begins an epoch in which nobody is primary, and this is published; false when somebody was faster. */
  async release(published: Published, version: string): Promise<boolean> {
    return await this.#begin({ name: "", uid: "" }, published, version);
  }

  async #begin({ name: holder, uid: holderUid }: Identity, published: Published, version: string) {
    return await this.#alone(async () => {
      const stored = this.stored;
      if (!stored || stored.version !== version || this.#isOld) return false;
      if (this.#observation.isPromised(this.#now)) return false;
      return await this.#write({ holder, holderUid, epoch: stored.record.epoch + 1, published }, version);
    });
  }

  /**
   * Puts back what this volume knows, held by nobody; false when somebody was faster. Not before everybody who held what was
   * lost has stopped. One that holds what is there instead was elected by nobody who knows. Those of `doubt` must all vote
   * then: a promise that nobody knows of may name any of them.
   */
  async putBack(doubt?: readonly string[]): Promise<boolean> {
    return await this.#alone(async () => {
      const { stored, known } = this;
      if (!stored || !known || !this.#isOld || this.#observation.isPromised(this.#now)) return false;
      if (this.#now - (this.#oldSinceMs ?? this.#now) < this.#options.timings.leaseMs) return false;
      const { epoch, published } = known;
      const quorums = [...(doubt ? [{ members: doubt, acks: 1 }] : []), ...published.quorums];
      const claim = { holder: "", holderUid: "", epoch, published: { ...published, quorums } };
      return await this.#write(claim, stored.version);
    });
  }

  /** Gives the lease to another, or to nobody, for good: PostgreSQL must have been stopped before. */
  async handOver(to: Identity | undefined, change: Change): Promise<boolean> {
    return await this.#alone(async () => {
      for (;;) {
        const stored = this.stored ?? (await this.look());
        if (!this.#isMine(stored)) return false;
        // If the answer is lost, the other one may be primary already.
        this.#hold = undefined;
        this.#isUncertain = true;
        const claim = {
          holder: to?.name ?? "",
          holderUid: to?.uid ?? "",
          epoch: stored.record.epoch + (to ? 1 : 0),
          published: change(this.#newest(stored)),
        };
        if (!(await this.#write(claim, stored.version))) continue;
        // There may be no round after this one: a Lease that goes back in time must not name us without our knowing better.
        await this.remember().catch(() => undefined);
        return true;
      }
    });
  }

  /** A candidate asks us to receive nothing more. True once that promise is on disk. */
  async vote(request: VoteRequest): Promise<true | string> {
    const isRead = await this.look().then(
      () => true,
      () => false,
    );
    const refusal = this.#refusal(request, isRead);
    if (refusal !== undefined) return refusal;
    // Between this check and the promise nothing else runs: no holder is promised anything in between.
    const { epoch, version, candidate } = request;
    const { vote } = this.#remembered;
    const before = (vote?.epoch === epoch && vote.candidates) || [];
    const candidates = [...new Set([...before, candidate])];
    this.#remembered = { ...this.#remembered, vote: { epoch, version, candidates } };
    this.#isVain = false;
    this.#readSinceVote = false;
    this.#votedAtMs = this.#now;
    await this.remember();
    return true;
  }

  #refusal({ epoch, version }: VoteRequest, isRead: boolean): string | undefined {
    if (this.isHolding) return "it holds the lease";
    if (this.#observation.isPromised(this.#now)) return "it has promised the primary to leave it alone";
    const stored = this.stored;
    if (isRead && stored?.version !== version) return "the record has changed";
    const newest = Math.max(stored?.record.epoch ?? 0, this.known?.epoch ?? 0);
    if (newest > epoch) return `the epoch is ${newest}`;
    if (this.#isOld) return "it knows more than the Lease";
    // A promise about another record stands until that is seen to be replaced.
    if (!isRead && this.isFrozen && this.#remembered.vote?.version !== version) return "it has voted already";
    return undefined;
  }

  /** The holder cannot reach the API server and asks whether it may go on. */
  failsafe({ holder, holderUid, epoch }: FailsafeRequest): boolean {
    const record = (this.stored ?? this.#remembered.stored)?.record;
    if (!record || record.epoch !== epoch || this.#isOld) return false;
    if (record.holder !== holder || record.holderUid !== holderUid) return false;
    if (this.isFrozen) return false;
    this.#observation.promise(this.#now);
    return true;
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #isMine({ record }: StoredRecord): boolean {
    const { me } = this.#options;
    return record.holder === me.name && record.holderUid === me.uid;
  }

  #seen(stored: StoredRecord, askedAtMs: number): void {
    this.#observation.read(stored, askedAtMs, this.#now);
    this.#oldSinceMs = this.#isOld ? (this.#oldSinceMs ?? this.#now) : undefined;
    this.#isUncertain = false;
    if (askedAtMs > this.#votedAtMs) this.#readSinceVote = true;
    if (this.#hold && (!this.#isMine(stored) || stored.record.epoch !== this.#hold.epoch)) {
      this.#hold = undefined;
      if (!this.#isMine(stored)) this.onLost();
    }
    this.#note();
  }

  /** False after a conflict; what is there now has been read then. */
  async #write(claim: Omit<Claim, "renewTime">, version: string): Promise<boolean> {
    const sentAtMs = this.#now;
    const published = this.#next(claim.published);
    const renewTime = this.#renewTime();
    try {
      const stored = await this.#options.lease.write({ ...claim, published, renewTime }, version);
      this.#observation.read(stored, sentAtMs, this.#now);
      this.#lastSuccessMs = sentAtMs;
      this.#isUncertain = false;
      if (this.#isMine(stored)) this.#extend(stored.record.epoch, sentAtMs);
      else this.#hold = undefined;
      this.#note();
      return true;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      await this.look();
      return false;
    }
  }

  /** See {@link Keeper.#newest}. */
  get published(): Published | undefined {
    return this.stored && this.#newest(this.stored);
  }

  /** What the holder published last, also where the Lease has gone back to before that. */
  #newest({ record }: StoredRecord): Published {
    return ((this.#isOld && this.known) || record).published;
  }

  /** What is published next, with who the instances are now, and as newer than what is there if it is different. */
  #next(wanted: Published): Published {
    const { policy, published: present } = this.stored?.record ?? {};
    const next = { ...wanted, ...(policy && { instances: policy.instances }) };
    if (present && lastingText(next) === lastingText(present)) return next;
    return { ...next, serial: Math.max(next.serial ?? 0, present?.serial ?? 0) + 1 };
  }

  /** Counted from when the renewal was sent: others see it later, and wait longer. */
  #extend(epoch: number, sentAtMs: number): void {
    const deadlineMs = sentAtMs + this.#options.timings.fenceMs;
    this.#hold = { epoch, deadlineMs };
    this.#options.guard.extend(deadlineMs);
  }

  /** The API server does not answer: if everybody agrees that we are primary, nobody else can become it. */
  async #withoutServer(): Promise<void> {
    const { timings, peers, log } = this.#options;
    const stored = this.stored ?? this.#remembered.stored;
    if (!stored || !this.#isMine(stored) || this.#isUncertain || this.#isOld) return;
    if (this.#now - this.#lastSuccessMs < 2 * timings.renewEveryMs) return;
    const { record } = stored;
    const { holder, holderUid, epoch } = record;
    const everybody = new Set([...othersIn(record, holder), ...(record.published.instances ?? [])]);
    everybody.delete(holder);
    const sentAtMs = this.#now;
    const answers = await Promise.all(
      [...everybody].map((name) => peers.failsafe(name, { holder, holderUid, epoch }).catch(() => false)),
    );
    const agreed = answers.every(Boolean);
    if (!agreed) {
      log.warn("not every instance agrees that this one goes on without the API server");
      return;
    }
    if (!this.stored) this.#observation.read(stored, sentAtMs, this.#now);
    this.#extend(epoch, sentAtMs);
  }

  /** At once: the Lease may be lost before it is read again. */
  #note(): void {
    const { stored } = this;
    if (!stored || this.#isOld) return;
    const known = this.#remembered.stored?.record;
    const { vote } = this.#remembered;
    const released = vote !== undefined && !this.isFrozen;
    const changed = !known || lastingPart(known) !== lastingPart(stored.record);
    if (!changed && !released) return;
    this.#remembered = { stored, ...(vote && !released && { vote }) };
  }

  /** Resolves once this volume knows all that was read and written. Before, no commit may be acknowledged because of it. */
  async remember(): Promise<void> {
    const save = async () => {
      if (this.hasRemembered) return;
      const remembered = this.#remembered;
      await this.#options.memory.write(remembered);
      this.#saved = remembered;
    };
    const turn = this.#saving.then(save, save);
    this.#saving = turn.catch(() => undefined);
    await turn;
  }

  /** This volume knows all that was read and written. */
  get hasRemembered(): boolean {
    return this.#saved === this.#remembered;
  }

  /** A point in time that is never the same twice, in the form of Kubernetes' MicroTime. */
  #renewTime(): string {
    const micros = String(this.#renewals++ % 1_000).padStart(3, "0");
    return new Date(this.#options.clock.now()).toISOString().replace("Z", `${micros}Z`);
  }

  /** Writes follow one another. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writing.then(work, work);
    this.#writing = turn.catch(() => undefined);
    return await turn;
  }
}

/** What does not change with each renewal. */
function lastingPart({ epoch, holderUid, published, policy }: LeaseRecord): string {
  return JSON.stringify([epoch, holderUid, lastingText(published), policy.initialInstance, policy.instances]);
}

function lastingText({ lsn: _, archived: __, ...lasting }: Published): string {
  return JSON.stringify(lasting);
}
