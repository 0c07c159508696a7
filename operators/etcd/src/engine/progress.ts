/** How far a member has got, as it tells anyone at its port for metrics. */
import type { MemberId, MemberProgress } from "./etcd.ts";

/** Undefined when these are not the metrics of a member. */
export function progressIn(metrics: string): MemberProgress | undefined {
  const number = (name: string) => new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1];
  const revision = number("etcd_debugging_mvcc_current_revision");
  const applied = number("etcd_server_proposals_applied_total");
  if (revision === undefined || applied === undefined) return undefined;
  // Committed is zero until something is committed after a start; everything that was before is applied by then.
  const committed = number("etcd_server_proposals_committed_total") ?? "0";
  return {
    revision: BigInt(Number(revision)),
    index: BigInt(Math.max(Number(applied), Number(committed))),
    learner: number("etcd_server_is_learner") === "1",
    peers: peersIn(metrics, Number(committed) > 0),
  };
}

/**
 * From 3.6 on all others are named, in 3.4 none. In 3.5 those that it could not reach: in a process that has committed something, some
 * of them may have been removed since.
 */
function peersIn(metrics: string, hasCommitted: boolean): MemberId[] {
  const idsIn = (pattern: RegExp) =>
    [...metrics.matchAll(pattern)].flatMap(({ groups: { local = "", id = "" } = {} }) =>
      id === local ? [] : [BigInt(`0x${id}`).toString()],
    );
  const known = idsIn(
    /^etcd_network_known_peers\{Local="(?<local>[0-9a-f]+)",Remote="(?<id>[0-9a-f]+)"\} 1$/gm,
  );
  if (known.length > 0 || hasCommitted) return known;
  return idsIn(/^etcd_network_peer_sent_failures_total\{To="(?<id>[0-9a-f]+)"\} /gm);
}
