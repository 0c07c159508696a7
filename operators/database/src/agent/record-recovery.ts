/** The Lease was lost, or went back in time: what the instances remember of it is put back, and then they elect as always. */
import { knowsMore, type LeaseRecord } from "../ha/state.ts";
import type { Keeper } from "./keeper.ts";
import { othersIn } from "./others.ts";
import type { Log, PeerStatus, Peers } from "./ports.ts";

export interface RecordRecoveryOptions {
  readonly me: { readonly name: string };
  readonly keeper: Keeper;
  readonly peers: Peers;
  readonly log: Log;
}

export class RecordRecovery {
  readonly #options: RecordRecoveryOptions;
  /** What it waits for, for people. */
  reason = "";

  constructor(options: RecordRecoveryOptions) {
    this.#options = options;
  }

  /** True when nobody knows anything, and this instance may make the database. */
  async run(own: PeerStatus): Promise<boolean> {
    const { me, keeper, peers, log } = this.#options;
    const record = keeper.stored?.record;
    if (!record) return false;
    const { known } = keeper;
    const everybody = [
      ...new Set([...othersIn(record, me.name), ...(known ? othersIn(known, me.name) : [])]),
    ];
    const names = whoHaveVolumes(record, me.name) ?? everybody;
    const answers = await Promise.all(
      names.map(async (name) => await peers.status(name).catch(() => undefined)),
    );
    const heard = answers.flatMap((answer) => (answer?.knownEpoch === undefined ? [] : [answer]));
    const missing = names.filter((name) => !heard.some((answer) => answer.name === name));
    const epoch = known?.epoch ?? 0;
    const reason = obstacle(heard, known, own.isEmpty ?? false);
    if (reason !== undefined) {
      this.reason = `the Lease has lost what it knew: ${reason.message}`;
      if (reason.nudge !== undefined) void peers.nudge(reason.nudge).catch(() => undefined);
      return false;
    }
    // One that is silent may know of commits that nobody else has.
    if (missing.length > 0 && record.policy.approval?.epoch !== epoch) {
      this.reason = `the Lease has lost what it knew, and ${missing.join(", ")} cannot be asked: a commit could be lost; approval is needed`;
      return false;
    }
    if (epoch === 0) return true;
    this.reason = "the Lease has lost what it knew, and gets it back";
    const present = [own, ...heard];
    const isKnown =
      everybody.every((name) => heard.some((each) => each.name === name && each.knownEpoch)) ||
      isPrimaryThere(present, known);
    const doubt = isKnown ? undefined : present.flatMap((each) => (each.isEmpty ? [] : [each.name]));
    if (await keeper.putBack(doubt)) log.warn("the record is put back", { epoch, doubt });
    return false;
  }
}

/** If the operator says so. */
function whoHaveVolumes(
  { policy: { found, initialInstance } }: LeaseRecord,
  me: string,
): string[] | undefined {
  return found && [initialInstance, ...found].filter((name) => name !== me);
}

/**
 * A primary's volume knows all that it promised. Where a volume has lost what it knew, it may have been the primary's: then
 * its last promise is known to nobody, and all that can be said is that each commit is on one of those that are left. Not so if
 * the last primary is there; that it was the last is certain only if nobody follows a timeline that came after it.
 */
function isPrimaryThere(present: readonly PeerStatus[], known: LeaseRecord | undefined): boolean {
  const { holder, epoch = 0 } = known ?? {};
  return (
    present.some(({ name, knownEpoch }) => name === holder && knownEpoch === epoch) &&
    present.every(({ role, vote }) => role !== "standby" || (vote && vote.timelineEpoch <= epoch))
  );
}

function obstacle(
  heard: readonly PeerStatus[],
  known: LeaseRecord | undefined,
  isEmpty: boolean,
): { readonly message: string; readonly nudge?: string } | undefined {
  const epoch = known?.epoch ?? 0;
  const better = heard.find((each) => knowsMore(each, known));
  if (better)
    return { message: `${better.name} knows more of epoch ${better.knownEpoch}`, nudge: better.name };
  const acting = heard.find(({ role, knownEpoch = 0 }) => role === "primary" && knownEpoch === epoch);
  if (acting) return { message: `${acting.name} is still primary`, nudge: acting.name };
  const full = epoch === 0 && isEmpty && heard.find((answer) => answer.isEmpty === false);
  return full ? { message: `${full.name} has data, and nobody knows how new it is` } : undefined;
}
