/** What an instance does next with its own PostgreSQL, from what it knows. Pure: agents run it, simulations too. */
import type { Lsn } from "./lsn.ts";
import { type LeaseRecord, pendingUpgrade, type Upgrade } from "./state.ts";

/** The instance's data and server. */
export interface Local {
  readonly name: string;
  readonly data?: {
    readonly systemId: string;
    readonly timeline: number;
    readonly timelineEpoch: number;
    /** It was left as a primary's: nothing says yet that it follows somebody. */
    readonly kind: "primary" | "standby";
    /** The major version that wrote it. Absent: that of the programs. */
    readonly major?: string;
  };
  /** The major version of the programs that are here. */
  readonly major?: string;
  /** `starting`: the process is there and does not answer yet. */
  readonly server: "stopped" | "starting" | "running";
  /** Of a server that runs or starts. */
  readonly inRecovery?: boolean;
  /** It hangs: for a long time it has not even said that it starts. */
  readonly isSilent?: boolean;
  /** Whom a standby is told to follow; undefined when nobody. */
  readonly upstream?: string | undefined;
  /** Whose timeline it was told to expect there: the epoch that began it. */
  readonly upstreamEpoch?: number | undefined;
  readonly receiving?: boolean;
  /** The end of its data. */
  readonly lsn?: Lsn;
  /** What the server said about following since it was last told whom to follow. */
  readonly complaint?: "diverged" | "walGone" | undefined;
  /** Rewinds in a row that failed. */
  readonly failedRewinds?: number;
  /** The server could not write because its volume is full, and it still is. */
  readonly isFull?: boolean;
  /** Next to nothing can be written to its volume. */
  readonly noRoom?: boolean;
}

/**
 * What is known of the lease:
 * - `unknown`: it was not read yet, or not for so long that it means nothing;
 * - `fresh`: its holder may be acting;
 * - `expired`: unchanged for the whole time by our clock: its holder has stopped its server;
 * - `free`: its holder gave it back;
 * - `dead`: not expired, but its holder is seen to be gone;
 * - `old`: this instance knows a later epoch: the Lease was lost, or went back in time with the API server.
 */
export type LeaseView = "unknown" | "fresh" | "expired" | "free" | "dead" | "old";

export interface StepView {
  readonly uid: string;
  readonly local: Local;
  readonly record: LeaseRecord | undefined;
  readonly lease: LeaseView;
  /** We hold the lease and our time has not run out. */
  readonly holding: boolean;
  /** We have promised a candidate to receive nothing, and nothing has come of it yet. */
  readonly frozen: boolean;
  /** The holder answers and serves as primary. */
  readonly primaryServes: boolean;
  /** The server was started often enough to know that it does not start with this data. */
  readonly startsInVain?: boolean;
}

export type Step =
  | { readonly step: "wait"; readonly reason: string }
  | { readonly step: "claim" }
  | { readonly step: "recoverRecord" }
  | { readonly step: "giveUp"; readonly reason: string; readonly upgrade?: string }
  | { readonly step: "initialise" }
  | { readonly step: "startPrimary" }
  | { readonly step: "serve" }
  | { readonly step: "promote" }
  | { readonly step: "startStandby"; readonly upstream: string | undefined }
  | { readonly step: "follow"; readonly upstream: string }
  | { readonly step: "rewind"; readonly from: string }
  | { readonly step: "clone"; readonly from: string; readonly reason: string }
  | { readonly step: "campaign" }
  | { readonly step: "goBack" }
  | { readonly step: "upgrade" }
  | { readonly step: "stop"; readonly how: "fast" | "kill"; readonly reason: string };

/** How the reason begins of one that was not cloned since the data was replaced, while there is no primary. */
export const ofBefore = "its data is that of before";

const wait = (reason: string): Step => ({ step: "wait", reason });

/** After so many rewinds that failed the data is set aside and cloned. */
const rewindAttempts = 3;

export function nextStep(view: StepView): Step {
  const { local, record, holding } = view;
  const isPrimary = local.server !== "stopped" && local.inRecovery === false;
  if (isPrimary && !holding) return { step: "stop", how: "kill", reason: "it does not hold the lease" };
  if (local.server === "starting") return wait("PostgreSQL starts");
  if (!record) return wait("the lease was not read yet");
  if (record.policy.hibernate) return hibernate(view, record);
  // It says nothing of the commits since, and whom it names may lack them.
  if (view.lease === "old") return { step: "recoverRecord" };
  const upgrade = pendingUpgrade(record);
  if (upgrade?.instance === local.name) return upgrading(view, upgrade, record);
  if (holding) return asHolder(view, record);
  if (view.lease === "unknown") return wait("the API server does not answer");
  if (view.lease === "fresh") return withRoom(asStandby(view, record), local);
  return withoutPrimary(view, record);
}

function hibernate({ local, holding }: StepView, { policy }: LeaseRecord): Step {
  if (local.server === "running") return { step: "stop", how: "fast", reason: "the database hibernates" };
  if (holding) return { step: "giveUp", reason: "the database hibernates" };
  return wait(policy.hibernate ? "the database hibernates" : "");
}

/** Stops with the old programs, comes back with the new ones, and is primary while it works on its data. */
function upgrading(view: StepView, { id, to }: Upgrade, record: LeaseRecord): Step {
  const { local, lease, holding } = view;
  const reason = `its data is taken to ${to}`;
  if (local.major !== to) {
    if (holding && local.server === "running") return { step: "stop", how: "fast", reason };
    if (holding) return { step: "giveUp", reason, upgrade: id };
    return wait(`it waits for the programs of ${to}`);
  }
  if (holding && local.server === "running")
    return { step: "stop", how: "fast", reason: "its data is replaced" };
  if (holding) return { step: "upgrade" };
  const { stoppedFor } = record.published;
  // A primary after us may have acknowledged commits that our data lacks.
  const isLast =
    record.holder === local.name || (stoppedFor?.upgrade === id && stoppedFor.epoch === record.epoch);
  return isLast && (lease === "free" || lease === "expired")
    ? { step: "claim" }
    : wait("somebody else was primary after it stopped, or is still");
}

/** Why programs and data do not go together; undefined when they do. */
function mismatch({ data, major }: Local): string | undefined {
  if (data?.major === undefined || data.major === major) return undefined;
  return `its data is of PostgreSQL ${data.major}, and its programs are of ${major}`;
}

function asHolder({ local }: StepView, { published, policy, epoch }: LeaseRecord): Step {
  if (!local.data) {
    if (published.systemId === undefined && policy.initialInstance === local.name)
      return { step: "initialise" };
    return { step: "giveUp", reason: "it has no data" };
  }
  if (published.systemId !== undefined && published.systemId !== local.data.systemId) {
    return { step: "giveUp", reason: "its data belongs to another database" };
  }
  const odd = mismatch(local);
  if (odd !== undefined) return { step: "giveUp", reason: odd };
  if (local.server === "stopped") {
    return local.data.kind === "primary"
      ? { step: "startPrimary" }
      : { step: "startStandby", upstream: undefined };
  }
  if (!local.inRecovery) return { step: "serve" };
  // It was over, and this instance ready for an election: another timeline in the same epoch could not be told from its first.
  return published.servingEpoch === epoch
    ? { step: "giveUp", reason: "its time as primary is over" }
    : { step: "promote" };
}

/** Data that is made again half-way is worse than data that is old. */
function withRoom(step: Step, { noRoom = false }: Local): Step {
  const isLarge = step.step === "rewind" || step.step === "clone";
  return isLarge && noRoom ? wait("its volume is full") : step;
}

/** Somebody else holds the lease. */
function asStandby(view: StepView, { holder, holderUid, published, epoch }: LeaseRecord): Step {
  const { local, uid } = view;
  // Given back by one whom we promised to leave alone: the promise is kept all the same.
  if (holder === "") return wait("the lease was given back");
  // Another pod of our name, or we before a restart of which the keeper has not made up its mind.
  if (holder === local.name) {
    return wait(
      holderUid === uid ? "the lease is being renewed" : "the pod of this name before us holds the lease",
    );
  }
  const { data } = local;
  // An instance that follows before the timeline is known cannot tell afterwards whose log it has.
  const isPublished = published.servingEpoch === epoch;
  if (!data) {
    if (!view.primaryServes || !isPublished) return wait(`${holder} does not serve yet`);
    return { step: "clone", from: holder, reason: "it has no data" };
  }
  // Until the new primary has said what its timeline is, and its control file says so too, nobody can be compared with it.
  const known = isPublished && published.checkpointed === true && view.primaryServes;
  if (published.systemId !== undefined && data.systemId !== published.systemId) {
    if (!known) return wait(`${holder} does not serve yet`);
    const reason = data.systemId === "" ? "its data cannot be read" : "its data belongs to another database";
    return { step: "clone", from: holder, reason };
  }
  const odd = mismatch(local);
  if (odd !== undefined) return wait(odd);
  const { timeline = 0, timelineEpoch = 0 } = published;
  const isStranger =
    data.timeline > timeline || (data.timeline === timeline && data.timelineEpoch !== timelineEpoch);
  if (known && isStranger) {
    return { step: "clone", from: holder, reason: `its timeline ${data.timeline} is not the primary's` };
  }
  if (view.frozen)
    return local.server === "running" ? wait("it has voted") : { step: "startStandby", upstream: undefined };
  if (data.kind === "primary" || local.complaint === "diverged") {
    if (!known) return wait(`${holder} is not ready to be rewound to`);
    if ((local.failedRewinds ?? 0) >= rewindAttempts) {
      return { step: "clone", from: holder, reason: "it could not be rewound" };
    }
    return { step: "rewind", from: holder };
  }
  if (local.complaint === "walGone") {
    if (!known) return wait(`${holder} does not serve yet`);
    return { step: "clone", from: holder, reason: "the primary no longer has the log that it needs" };
  }
  if (local.server === "stopped") {
    // More data does not help where there is no room for what there is.
    if (view.startsInVain && known && !local.isFull)
      return { step: "clone", from: holder, reason: "its PostgreSQL does not start" };
    return { step: "startStandby", upstream: isPublished ? holder : undefined };
  }
  if (!isPublished) return wait(`${holder} is being promoted`);
  // Of a timeline that it reaches before it was told of it nobody can say whose it is.
  const isTold = local.upstream === holder && local.upstreamEpoch === timelineEpoch;
  if (!isTold) return { step: "follow", upstream: holder };
  return wait(local.receiving ? "it follows" : `it waits for ${holder}`);
}

/** Nobody acts as primary, or soon nobody will. */
function withoutPrimary(view: StepView, record: LeaseRecord): Step {
  const { local, lease } = view;
  const { published, policy } = record;
  if (policy.paused) return wait("the database is paused");
  const upgrade = pendingUpgrade(record);
  if (upgrade) return wait(`${upgrade.instance} takes the data to ${upgrade.to}`);
  if (published.systemId === undefined) {
    if (policy.initialInstance === local.name)
      return policy.found?.length ? { step: "recoverRecord" } : { step: "claim" };
    return wait(`${policy.initialInstance} makes the database`);
  }
  if (!local.data) return wait("it has no data, and there is no primary to clone");
  if (local.data.systemId !== published.systemId) return withOtherData(view, record);
  const odd = mismatch(local);
  if (odd !== undefined) return wait(odd);
  if (local.server === "stopped") {
    // A crashed primary finds the end of its log by recovering, and votes with it.
    return { step: "startStandby", upstream: undefined };
  }
  // Who died is seen by all: let the one that is still being followed finish, if it is only slow.
  return lease === "dead" && local.receiving ? wait("the primary still sends") : { step: "campaign" };
}

/** Nobody acts as primary, and this instance was not cloned since the data was replaced. */
function withOtherData({ local, lease }: StepView, { epoch, published, policy }: LeaseRecord): Step {
  const { before } = published;
  if (!before || before.systemId !== local.data?.systemId)
    return wait("its data belongs to another database");
  // Time is the only fence: commits since then wait for nobody.
  const isOver = lease === "free" || lease === "expired";
  if (isOver && policy.approvedReturn === epoch) return { step: "goBack" };
  return wait(`${ofBefore} ${before.at}, and no primary has newer data that it could clone`);
}
