/** What the instances of a database agree on: one record, kept in a Lease and changed by compare-and-swap only. */
import type { Quorum } from "./quorum.ts";

/** Who the instances are and what is asked of them. The operator writes it; instances only read it. */
export interface Policy {
  /** Names of all instances that should exist. */
  readonly instances: readonly string[];
  readonly durability: "async" | "quorum" | "all";
  /** The only instance that may make a new database, while the record has no system identifier. */
  readonly initialInstance: string;
  /** While the record has no system identifier: other instances that have a volume already, and may have data. */
  readonly found?: readonly string[];
  /** The Database object under which the data came to be. */
  readonly databaseUid?: string;
  /** Settings of PostgreSQL that the user chose. */
  readonly parameters: Readonly<{ [name: string]: string }>;
  /** With `async`: the most bytes of log that a failover may lose without a person's approval. */
  readonly maximumLagBytes: number;
  readonly switchover?: { readonly id: string; readonly to?: string };
  /** A person accepts loss for the failover out of this epoch, to this instance if one is named. */
  readonly approval?: { readonly epoch: number; readonly instance?: string };
  /** A person accepts, in this epoch, that the data of before it was replaced is served again. */
  readonly approvedReturn?: number;
  /** Instances stop and stay stopped. */
  readonly hibernate?: boolean;
  /** Nobody fails over and nobody is restarted. */
  readonly paused?: boolean;
  /** Clients are kept out: the Database is being deleted, and nothing must come after its last backup. */
  readonly closed?: boolean;
  /** There are poolers, which clients come through. */
  readonly pooler?: boolean;
  /** What instances run, while the spec may ask for another one. */
  readonly version?: string;
  /** One instance replaces its data by that of another major version or another time; nobody else is primary meanwhile. */
  readonly upgrade?: Upgrade;
  /** The upgrade that was called off, because its instance did not come back. */
  readonly abortedUpgrade?: string;
}

export interface Upgrade {
  readonly id: string;
  /** The major version. */
  readonly to: string;
  readonly instance: string;
  /** Not by an upgrade, but from a backup in the Database's own store, or by what was there before the last one. */
  readonly restore?: {
    readonly backup?: string;
    readonly targetTime?: string;
    readonly undo?: boolean;
    /** The epoch in which it was asked for: the same request may come again later. */
    readonly since: number;
  };
}

/** What primaries publish. */
export interface Published {
  /** PostgreSQL's identifier of the database; absent until one was made. */
  readonly systemId?: string;
  readonly timeline?: number;
  /** The epoch whose primary began the timeline. */
  readonly timelineEpoch?: number;
  /** Who began the timeline. */
  readonly timelineBy?: string;
  /** The epoch whose primary has promoted and published the timeline above: before, nobody can follow it. */
  readonly servingEpoch?: number;
  /** True once the primary's control file names the timeline: before, nobody can rewind to it. */
  readonly checkpointed?: boolean;
  readonly quorums: readonly Quorum[];
  /** Counts what was published: of two records of one epoch the one with more is newer. */
  readonly serial?: number;
  /** Who the instances were when the holder wrote last: it goes on without the API server only if all of them agree. */
  readonly instances?: readonly string[];
  /** Where the primary's log ended when it renewed last. */
  readonly lsn?: string;
  /** The newest segment of the log that the archive had then; all before it are there too. */
  readonly archived?: string;
  /** What the last failover may have lost, in bytes of log. */
  readonly lastFailover?: {
    readonly epoch: number;
    readonly from: string;
    readonly to: string;
    readonly at: string;
    /** What the primary had told of and is gone. What it wrote after that, in its last second, is not counted. */
    readonly lostBytes: number;
    /** Nobody can say that nothing was lost. */
    readonly mayHaveLost?: boolean;
    readonly reason: string;
  };
  /** The last switchover that was asked for, and why it was refused if it was. */
  readonly switchover?: {
    readonly id: string;
    readonly outcome: "Done" | "Refused";
    readonly message: string;
  };
  /** The primary of this epoch has stopped cleanly, for this upgrade: nobody has more than it. */
  readonly stoppedFor?: { readonly upgrade: string; readonly epoch: number };
  /** The last upgrade of the data, and why everything is as before if it failed. */
  readonly upgrade?: {
    readonly id: string;
    readonly outcome: "Done" | "Failed";
    readonly message: string;
    /** How long it took, without the time in which the pod was replaced. */
    readonly durationMs?: number;
  };
  /** The last restore in place, where an upgrade of the version came after it: it is not carried out again. */
  readonly restored?: NonNullable<Published["upgrade"]>;
  /** Ids of the restores in place that were carried out, oldest first: none is carried out twice. */
  readonly restores?: readonly string[];
  /** What the data was when it was last replaced by that of another system: instances that were not cloned since have it still. */
  readonly before?: Before;
  /** What instances ran before the data was replaced that is gone: they have gone back to that. */
  readonly returnedTo?: string;
}

/** What was published of data until it was replaced. */
export interface Before
  extends Pick<Published, "systemId" | "timeline" | "timelineEpoch" | "quorums" | "lsn" | "archived"> {
  /** When it was replaced. */
  readonly at: string;
  /** What instances ran. */
  readonly version?: string;
}

/** What the Lease holds, as read at one moment. */
export interface LeaseRecord {
  /** The holder's name; empty when nobody holds the lease. */
  readonly holder: string;
  /** The holder's pod: another pod of that name is another holder. */
  readonly holderUid: string;
  /** Counts holders: an older epoch is refused. */
  readonly epoch: number;
  /** Changes with every write of the holder. Compared, never interpreted. */
  readonly renewTime: string;
  readonly published: Published;
  readonly policy: Policy;
}

/** How much an instance knows of the record. */
export interface Knowledge {
  /** The newest epoch that its volume knows of; none is 0. */
  readonly knownEpoch?: number;
  /** How much of that epoch it knows; see `Published`. */
  readonly knownSerial?: number;
}

/** In one epoch too the Lease may go back in time, or the primary go on to instances that others do not know of. */
export function knowsMore(
  { knownEpoch = 0, knownSerial = 0 }: Knowledge,
  record: Pick<LeaseRecord, "epoch" | "published"> | undefined,
): boolean {
  const { epoch = 0, published } = record ?? {};
  return knownEpoch > epoch || (knownEpoch === epoch && knownSerial > (published?.serial ?? 0));
}

export function knowledgeOf(record: LeaseRecord | undefined): Required<Knowledge> {
  return { knownEpoch: record?.epoch ?? 0, knownSerial: record?.published.serial ?? 0 };
}

export interface StoredRecord {
  readonly record: LeaseRecord;
  /** For compare-and-swap. */
  readonly version: string;
}

export interface Timings {
  /** Nobody takes the lease before it has been seen unchanged for so long, by the clock of the one who looks. */
  readonly leaseMs: number;
  /** The holder stops PostgreSQL so long after it sent the last renewal that succeeded. */
  readonly fenceMs: number;
  readonly renewEveryMs: number;
  readonly requestTimeoutMs: number;
  /** A standby that does not stream for so long is no longer counted on. */
  readonly standbyLossMs: number;
  /** A primary whose commits wait for standbys that are well but do not come gives up after so long. */
  readonly lonelyMs: number;
  /** How long it leaves primaryship to others then. */
  readonly abstainMs: number;
  /** How long a primary must be seen dead before its lease is taken early. */
  readonly deathMs: number;
}

export const defaultTimings: Timings = {
  leaseMs: 8_000,
  fenceMs: 6_000,
  renewEveryMs: 1_000,
  requestTimeoutMs: 2_000,
  standbyLossMs: 5_000,
  lonelyMs: 3_000,
  abstainMs: 30_000,
  deathMs: 1_500,
};

/** The upgrade that is under way: nothing is known of its end yet. One from an earlier time may come back with the API server. */
export function pendingUpgrade({
  policy: { upgrade },
  published,
}: Pick<LeaseRecord, "policy" | "published">): Upgrade | undefined {
  if (!upgrade || upgrade.id === published.upgrade?.id) return undefined;
  return published.restores?.includes(upgrade.id) ? undefined : upgrade;
}

/** Of so many restores it is known that they were carried out. */
const restoresKept = 50;

/** What stays known of restores in place when the data is replaced again, by `replacing`, or when that failed. */
export function pastRestores(
  { upgrade, restored, restores = [] }: Published,
  replacing?: Upgrade,
): Pick<Published, "restored" | "restores"> {
  const last = upgrade && isRestore(upgrade.id) ? upgrade : restored;
  // Those of older releases are in no list.
  const before = last?.outcome === "Done" ? [last.id] : [];
  const done = new Set([...restores, ...before, ...(replacing?.restore ? [replacing.id] : [])]);
  return {
    ...(last && !replacing?.restore && { restored: last }),
    ...(done.size > 0 && { restores: [...done].slice(-restoresKept) }),
  };
}

/** What stays known of the data that is replaced by that of another system. */
export function beforeOf(
  { published, policy: { version } }: Pick<LeaseRecord, "published" | "policy">,
  { systemId, at }: { readonly systemId: string; readonly at: string },
): Pick<Published, "before"> {
  const { systemId: was, timeline, timelineEpoch, quorums, lsn, archived } = published;
  if (was === undefined || was === systemId) return {};
  return {
    before: {
      ...{ systemId: was, quorums, at },
      ...(timeline !== undefined && { timeline }),
      ...(timelineEpoch !== undefined && { timelineEpoch }),
      ...(lsn !== undefined && { lsn }),
      ...(archived !== undefined && { archived }),
      ...(version !== undefined && { version }),
    },
  };
}

/** What a restore in place is called among those who replace data. */
export function restoreId(id: string): string {
  return `restore-${id}`;
}

export function isRestore(id: string): boolean {
  return id.startsWith(restoreId(""));
}

/**
 * The Database object under which the data came to be: what is stored elsewhere is named after it. One of the same name that
 * takes the data over has another UID.
 */
export function dataUidOf(
  record: LeaseRecord | undefined,
  {
    metadata,
    status,
  }: {
    readonly metadata: { readonly uid: string };
    readonly status?: { readonly dataUid?: string | undefined } | undefined;
  },
): string {
  const known = record?.published.systemId === undefined ? undefined : record.policy.databaseUid;
  return known ?? status?.dataUid ?? metadata.uid;
}

/** How many instances must have a commit before it is acknowledged, the primary included. */
export function acksFor({ durability, instances }: Pick<Policy, "durability" | "instances">): number {
  if (durability === "async") return 1;
  return durability === "all" ? Math.max(1, instances.length) : Math.floor(instances.length / 2) + 1;
}
