/**
 * What this process remembers from pass to pass. Losing it costs time, never safety. Its times are those of the monotonic
 * clock: the other one may be set back.
 */
import type { ServerFacts } from "../engine/info.ts";
import type { Answer, JobView } from "./observed.ts";

/** Nothing is learned of a server that answers like this. */
const silentStates: ReadonlySet<Answer["state"]> = new Set(["silent", "denied", "untrusted"]);

/** Of one database. */
export class DatabaseMemory {
  /** When each pod last answered, by UID; the first look counts as an answer. */
  readonly #answered = new Map<string, number>();
  /** Pods that are silent, by UID, with how often they were passed over. */
  readonly #silent = new Map<string, number>();
  /** Since when each pod has been busy, by UID. */
  readonly #busy = new Map<string, number>();
  readonly #departures = new Map<string, bigint>();
  /** The acknowledgements that the spec asks for, and how far the primary was when it began to. */
  #asked: { readonly number: number; readonly runId: string; readonly offset: bigint } | undefined;
  /** The process and the password with which a login of the application was last seen to succeed. */
  loggedIn = "";
  /** Passwords that only servers and the operator know, by user. */
  internal: Readonly<Record<string, string>> = {};
  /** When every server was last told to read its certificates again. */
  reloadedMs = Number.NEGATIVE_INFINITY;
  #phase: { readonly began: number; readonly seenMs: number } | undefined;
  /** What was done about the reclaim policy of volumes, by name. */
  readonly volumes = new Map<string, "kept" | "released">();
  /** Why Jobs failed, by UID. */
  readonly failures = new Map<string, Pick<JobView, "reason" | "message">>();
  /** What servers have been told, by run id: settings and users, as digests of what was applied and read back. */
  readonly told = new Map<string, { applied: string; readBack: string; atMs: number }>();

  /** Whether it was silent when it was last asked. Every fifth time it is to be waited for all the same: it may be back. */
  mayPassOver(podUid: string): boolean {
    const times = this.#silent.get(podUid);
    if (times === undefined) return false;
    this.#silent.set(podUid, (times + 1) % 5);
    return times < 4;
  }

  silentMs(podUid: string, answer: Answer | undefined, nowMs: number): number {
    const isSilent = answer !== undefined && silentStates.has(answer.state);
    if (!isSilent) this.#silent.delete(podUid);
    else if (!this.#silent.has(podUid)) this.#silent.set(podUid, 0);
    if (!isSilent || !this.#answered.has(podUid)) this.#answered.set(podUid, nowMs);
    return nowMs - (this.#answered.get(podUid) ?? nowMs);
  }

  busyMs(podUid: string, answer: Answer | undefined, nowMs: number): number {
    if (answer?.state === "busy" && !this.#busy.has(podUid)) this.#busy.set(podUid, nowMs);
    else if (answer?.state !== "busy" && answer?.state !== "silent") this.#busy.delete(podUid);
    return nowMs - (this.#busy.get(podUid) ?? nowMs);
  }

  /** When a phase of the authority was first seen; `began` is what its Secret says. */
  phaseSeenMs(began: number, nowMs: number): number {
    if (this.#phase?.began !== began) this.#phase = { began, seenMs: nowMs };
    return this.#phase.seenMs;
  }

  /** Followers that the primary does not see, with its offset when that began. */
  departures(
    followers: readonly string[],
    addresses: ReadonlyMap<string, string | undefined>,
    primary: ServerFacts | undefined,
  ): ReadonlyMap<string, bigint> {
    if (!primary) return new Map(this.#departures);
    for (const name of new Set([...followers, ...this.#departures.keys()])) {
      const ip = addresses.get(name);
      const isAttached = ip !== undefined && primary.replicas.some(({ host }) => host === ip);
      if (isAttached || !followers.includes(name)) this.#departures.delete(name);
      else if (!this.#departures.has(name)) this.#departures.set(name, primary.offset);
    }
    return new Map(this.#departures);
  }

  /**
   * Whether every follower has all that the primary had when this many acknowledgements were first asked for. Counted
   * again for every process that leads, and by every process of the operator.
   */
  hasCaughtUp(
    asked: number,
    addresses: readonly (string | undefined)[],
    primary: ServerFacts | undefined,
  ): boolean {
    if (!primary) return false;
    const { runId, offset } = primary;
    if (this.#asked?.number !== asked || this.#asked.runId !== runId)
      this.#asked = { number: asked, runId, offset };
    const since = this.#asked.offset;
    return addresses.every((ip) =>
      primary.replicas.some((each) => ip !== undefined && each.host === ip && each.offset >= since),
    );
  }

  forgetOthers(podUids: ReadonlySet<string>, runIds: ReadonlySet<string>): void {
    for (const known of [this.#answered, this.#busy, this.#silent])
      for (const uid of known.keys()) if (!podUids.has(uid)) known.delete(uid);
    for (const id of this.told.keys()) if (!runIds.has(id)) this.told.delete(id);
  }
}

export class Memory {
  readonly #databases = new Map<string, DatabaseMemory>();

  of(uid: string): DatabaseMemory {
    const found = this.#databases.get(uid) ?? new DatabaseMemory();
    this.#databases.set(uid, found);
    return found;
  }

  forget(uid: string): void {
    this.#databases.delete(uid);
  }
}
