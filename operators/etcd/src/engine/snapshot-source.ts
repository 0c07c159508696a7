/** Which member a snapshot is taken from. */

import { BackupError } from "@keelson/kit";
import type { Etcd, MemberStatus } from "./etcd.ts";

export interface Source {
  readonly etcd: Etcd;
  readonly status: MemberStatus;
  /** Of a linearizable read through it: it is connected, and has everything that was acknowledged before. */
  readonly revision: bigint;
}

/**
 * The follower that is furthest along, so that the leader is not disturbed; the leader only when there is no other. A
 * member that cannot read linearizably is partitioned, and its data may be old.
 */
export async function chooseSource(members: readonly Etcd[]): Promise<Source> {
  const asked = await Promise.allSettled(
    members.map(async (etcd): Promise<Source> => {
      const status = await etcd.status();
      if (status.learner) throw new BackupError("NoMember", "it is a learner");
      const { revision } = await etcd.get("keelson.dev/read");
      return { etcd, status, revision };
    }),
  );
  const able = asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const [best] = able.sort(
    (a, b) => Number(leads(a)) - Number(leads(b)) || compare(b.status.appliedIndex, a.status.appliedIndex),
  );
  if (best) return best;
  const reasons = asked.flatMap((answer) =>
    answer.status === "rejected" ? [(answer.reason as Error).message] : [],
  );
  throw new BackupError(
    "NoMember",
    `no member can be asked for a snapshot: ${[...new Set(reasons)].join("; ")}`,
  );
}

function leads({ status }: Source): boolean {
  return status.leader === status.memberId;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
