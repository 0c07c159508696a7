/** Who has a part in a database. */
import type { LeaseRecord } from "../ha/state.ts";

/** Everybody but one: those who should exist, and those who may hold what was promised. */
export function othersIn({ policy, published }: LeaseRecord, me: string): string[] {
  const all = new Set([...policy.instances, ...published.quorums.flatMap(({ members }) => members)]);
  all.delete(me);
  return [...all];
}
