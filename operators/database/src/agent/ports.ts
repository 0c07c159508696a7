/** What an agent needs of the world. The real ones are beside this file; simulations bring their own. */
import type { Lsn } from "../ha/lsn.ts";
import type { Vote } from "../ha/quorum.ts";
import type { Knowledge, Published, StoredRecord, Upgrade } from "../ha/state.ts";
import type { Local } from "../ha/step.ts";
import type { Standby } from "../ha/sync.ts";

export interface Clock {
  /** Milliseconds since the epoch; for people only. */
  now(): number;
  /** Milliseconds that no correction of the date moves. */
  monotonic(): number;
  timer(delayMs: number, run: () => void): () => void;
}

/** The part of the record that a holder writes. */
export interface Claim {
  readonly holder: string;
  readonly holderUid: string;
  readonly epoch: number;
  readonly renewTime: string;
  readonly published: Published;
}

/** The record was changed by somebody else since it was read. */
export class Conflict extends Error {}

export interface LeaseStore {
  /** The newest record, never an older one from a cache. */
  read(): Promise<StoredRecord>;
  /** Writes only if the record still is the one of that version; throws `Conflict` when it is not. */
  write(claim: Claim, version: string): Promise<StoredRecord>;
}

/** The one who was asked is not there: its machine refuses connections. */
export class Gone extends Error {}

export interface PeerStatus extends Knowledge {
  readonly name: string;
  readonly uid: string;
  readonly role: "primary" | "standby" | "none";
  readonly serving: boolean;
  readonly receiving: boolean;
  readonly draining: boolean;
  /** Next to nothing can be written to its volume. */
  readonly noRoom?: boolean;
  /** Of a primary: what standbys must allow at least. */
  readonly limits?: Readonly<{ [name: string]: string }>;
  readonly vote?: Vote;
  /** It has looked, and there is no data, or none that can be read. */
  readonly isEmpty?: boolean;
  /** PostgreSQL's identifier of its data. */
  readonly systemId?: string | undefined;
  readonly reason: string;
}

export interface VoteRequest {
  readonly candidate: string;
  readonly epoch: number;
  /** The version of the record that the candidate will replace. */
  readonly version: string;
}

export type VoteAnswer = { readonly vote: Vote } | { readonly refused: string };

export interface FailsafeRequest {
  readonly holder: string;
  readonly holderUid: string;
  readonly epoch: number;
}

/** The other instances' agents. Every call has a deadline. */
export interface Peers {
  status(name: string): Promise<PeerStatus>;
  vote(name: string, request: VoteRequest): Promise<VoteAnswer>;
  failsafe(name: string, request: FailsafeRequest): Promise<boolean>;
  /** Asks to look at the lease now. */
  nudge(name: string): Promise<void>;
  checkpoint(name: string): Promise<void>;
  /** Where its log ends now, and not when it last looked. */
  position(name: string): Promise<Vote | undefined>;
}

/** Stops PostgreSQL when a deadline passes, whatever the agent does meanwhile. */
export interface Guard {
  /** By the monotonic clock. */
  extend(deadlineMs: number): void;
}

/** What must survive a restart of the agent. Each write is on disk when it resolves. */
export interface Memory {
  read(): Promise<Remembered>;
  write(remembered: Remembered): Promise<void>;
}

export interface Remembered {
  /** The newest record that was read: for when the API server is gone after a restart, and for when the Lease is lost. */
  readonly stored?: StoredRecord;
  /** A vote of which nothing has come yet, and all who got it. Those of older releases do not say who. */
  readonly vote?: {
    readonly epoch: number;
    readonly version: string;
    readonly candidates?: readonly string[];
  };
}

export interface Replication {
  /** The end of the log on disk. */
  readonly lsn: Lsn;
  readonly standbys: readonly Standby[];
  /** The value that PostgreSQL follows. */
  readonly synchronousNames: string;
  /** Every sender has taken the value up. */
  readonly effective: boolean;
  /** What it allows; see `limits`. */
  readonly limits: Readonly<{ [name: string]: string }>;
  /** The segment of the log that was archived last. */
  readonly archived?: string;
}

/** What a primary starts its time with. */
export interface Primaryship {
  readonly epoch: number;
  readonly synchronousNames: string;
  /** The last segment of the log that the primary before is known to have archived. */
  readonly archived?: string;
}

export interface Configuration {
  readonly parameters: Readonly<{ [name: string]: string }>;
  /** What the primary allows at present; see `limits`. */
  readonly floors: Readonly<{ [name: string]: string }>;
  /** Keeps all clients out. */
  readonly closed: boolean;
}

/** One PostgreSQL server with its data. */
export interface Engine {
  inspect(): Promise<Local>;
  /** What this instance would vote with; undefined while it is not consistent or its end is not known. */
  position(): Promise<Vote | undefined>;
  initialise(): Promise<void>;
  startPrimary(primaryship: Primaryship): Promise<void>;
  startStandby(upstream: Upstream | undefined): Promise<void>;
  /** Resolves when nothing is received any more from whom it followed before. */
  follow(upstream: Upstream | undefined): Promise<void>;
  /** This is who began the timeline that it got to before it was told of it: it is known then whose it is, if it had it from there. */
  recognise(origin: Upstream): Promise<void>;
  promote(primaryship: Primaryship): Promise<void>;
  stop(how: "fast" | "kill"): Promise<void>;
  /** Where a server that was stopped cleanly ended. */
  endOfLog(): Promise<Lsn>;
  /** From now on the data is a standby's. */
  demote(): Promise<void>;
  rewind(from: Upstream): Promise<void>;
  clone(from: Upstream, reason: string): Promise<void>;
  /** Replaces the data by that of a backup, or by what was there before; keeps what is there now. */
  restoreInPlace(
    options: NonNullable<Upgrade["restore"]> & { readonly id: string; readonly epoch: number },
  ): Promise<string>;
  /** Takes the data to the major version of the programs. Whatever fails, the data of before is there again. */
  upgrade(options: { readonly epoch: number; readonly link: boolean }): Promise<string>;
  checkpoint(): Promise<void>;
  replication(): Promise<Replication>;
  setSynchronousNames(value: string): Promise<void>;
  configure(configuration: Configuration): Promise<void>;
}

/** A primary, and the timeline that following it leads to. */
export interface Upstream {
  readonly name: string;
  readonly timeline: number;
  readonly timelineEpoch: number;
}

/** The pods of the instances, for Services to find. */
export interface Pods {
  /** Gives `primary` the label of the primary, and takes it from all others. */
  label(primary: string, others: readonly string[]): Promise<void>;
  /** True when the pod with this UID does not exist any more. */
  isGone(name: string, uid: string): Promise<boolean>;
  /** Tells everybody, by way of the API server, whom this instance cannot reach; undefined takes it back. */
  complain(about: string | undefined): Promise<void>;
  /** Which of these instances complain about exactly this. */
  complaints(names: readonly string[], about: string): Promise<string[]>;
}

/** The poolers that clients come through. Whatever they answer, nobody waits for them for long. */
export interface Poolers {
  /** Resolves when no transaction is open, or those that are had their time. */
  pause(): Promise<void>;
  /** Clients come to this instance from now on. */
  point(): Promise<void>;
}

export interface Log {
  info(message: string, fields?: Readonly<{ [name: string]: unknown }>): void;
  warn(message: string, fields?: Readonly<{ [name: string]: unknown }>): void;
}
