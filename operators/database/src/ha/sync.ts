/**
 * Changes which instances commits wait for, without a moment in which an election could miss one that was acknowledged.
 *
 * The published list holds every promise that some acknowledged commit may rely on, and an election must meet all of
 * them, as in a joint consensus. So a promise is published before PostgreSQL follows it, and an older one goes only when
 * everything that was acknowledged before is also where the newer one says.
 */
import type { Lsn } from "./lsn.ts";
import { isSameQuorum, type Quorum } from "./quorum.ts";
import { acksFor, type Policy } from "./state.ts";

/** A standby as the primary sees it. */
export interface Standby {
  readonly name: string;
  readonly streaming: boolean;
  /** What it has on disk. */
  readonly flushed: Lsn;
  /** PostgreSQL counts it among those that commits may wait for. */
  readonly counted: boolean;
}

export interface SyncView {
  readonly me: string;
  readonly published: readonly Quorum[];
  /** What PostgreSQL follows now; undefined when that is not known. */
  readonly applied: Quorum | undefined;
  /** PostgreSQL's senders have taken up what is applied. */
  readonly effective: boolean;
  /** The end of the primary's log, read after `applied` became effective. */
  readonly mark: Lsn | undefined;
  readonly standbys: readonly Standby[];
  readonly target: Quorum;
}

export type SyncAction =
  | { readonly action: "publish"; readonly quorums: readonly Quorum[] }
  | { readonly action: "apply"; readonly quorum: Quorum }
  | { readonly action: "mark" }
  | { readonly action: "none" };

export function nextSync(view: SyncView): SyncAction {
  const { me, published, applied, target } = view;
  const newest = published.at(-1);
  if (!newest || !isSameQuorum(newest, target)) {
    return { action: "publish", quorums: [...published, target] };
  }
  if (!applied || !isSameQuorum(applied, newest)) return { action: "apply", quorum: newest };
  if (published.length === 1 || !view.effective) return { action: "none" };
  if (view.mark === undefined) return { action: "mark" };
  const mark = view.mark;
  const holders = newest.members.filter(
    (name) =>
      name === me ||
      view.standbys.some((each) => each.name === name && each.streaming && each.flushed >= mark),
  );
  return holders.length >= newest.acks ? { action: "publish", quorums: [newest] } : { action: "none" };
}

export interface TargetOptions {
  readonly me: string;
  readonly policy: Policy;
  /** Standbys that stream now or did a moment ago. */
  readonly alive: readonly string[];
  /** Members of the newest published promise. */
  readonly current: readonly string[];
}

/**
 * Who should be counted on: the primary and the standbys that stream. With too few of them commits wait, so those that
 * are missing stay named: whichever comes back first lets commits through.
 */
export function targetQuorum({ me, policy, alive, current }: TargetOptions): Quorum {
  const acks = acksFor(policy);
  if (acks === 1) return { members: [me], acks: 1 };
  const wanted = policy.instances.filter((name) => name !== me);
  const streaming = wanted.filter((name) => alive.includes(name));
  if (streaming.length >= acks - 1) return { members: [me, ...streaming], acks };
  const named = wanted.filter((name) => streaming.includes(name) || current.includes(name));
  const enough = named.length >= acks - 1 ? named : wanted;
  return { members: [me, ...enough], acks: Math.min(acks, enough.length + 1) };
}

/** The value of `synchronous_standby_names`. */
export function standbyNames({ members, acks }: Quorum, me: string): string {
  const others = members.filter((name) => name !== me);
  if (acks <= 1 || others.length === 0) return "";
  return `ANY ${acks - 1} (${others.map((name) => `"${name}"`).join(", ")})`;
}
