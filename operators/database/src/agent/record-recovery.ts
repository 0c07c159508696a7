/** The Lease was lost, or went back in time: what the instances remember of it is put back, and then they elect as always. */
import type { LeaseRecord } from "../ha/state.ts";
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
  async run(isEmpty: boolean): Promise<boolean> {
    const { me, keeper, peers, log } = this.#options;
    const record = keeper.stored?.record;
    if (!record) return false;
    const names = whoMayKnow(record, keeper.known, me.name);
    const answers = await Promise.all(
      names.map(async (name) => await peers.status(name).catch(() => undefined)),
    );
    const heard = answers.filter((answer) => answer?.knownEpoch !== undefined);
    const missing = names.filter((name) => !heard.some((answer) => answer?.name === name));
    const epoch = keeper.known?.epoch ?? 0;
    const serial = keeper.known?.published.serial ?? 0;
    const reason = obstacle(heard as PeerStatus[], { epoch, serial }, isEmpty);
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
    if (await keeper.putBack()) log.warn("the record is put back", { epoch });
    return false;
  }
}

/** Those who have a volume, if the operator says so; otherwise all that were ever counted on. */
function whoMayKnow(record: LeaseRecord, known: LeaseRecord | undefined, me: string): string[] {
  const { found, initialInstance } = record.policy;
  if (found) return [initialInstance, ...found].filter((name) => name !== me);
  return [...new Set([...othersIn(record, me), ...(known ? othersIn(known, me) : [])])];
}

function obstacle(
  heard: readonly PeerStatus[],
  { epoch, serial }: { readonly epoch: number; readonly serial: number },
  isEmpty: boolean,
): { readonly message: string; readonly nudge?: string } | undefined {
  // In one epoch the primary may have gone on to other instances, while this one did not see it.
  const better = heard.find(
    ({ knownEpoch = 0, knownSerial = 0 }) =>
      knownEpoch > epoch || (knownEpoch === epoch && knownSerial > serial),
  );
  if (better)
    return { message: `${better.name} knows more of epoch ${better.knownEpoch}`, nudge: better.name };
  const acting = heard.find(({ role, knownEpoch = 0 }) => role === "primary" && knownEpoch === epoch);
  if (acting) return { message: `${acting.name} is still primary`, nudge: acting.name };
  const full = epoch === 0 && isEmpty && heard.find((answer) => answer.isEmpty === false);
  return full ? { message: `${full.name} has data, and nobody knows how new it is` } : undefined;
}
