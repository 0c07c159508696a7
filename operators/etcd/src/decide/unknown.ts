/** Members that this operator did not add: they vote and cannot be counted on, so nothing is disturbed beside them. */
import { reasons } from "../api/conditions.ts";
import { hex } from "../engine/etcd.ts";
import type { Observed } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";

export function unknownVoters(o: Observed): Decision | undefined {
  if (o.unknownMembers.every(({ learner }) => learner)) return undefined;
  const message = describeUnknown(o) ?? "";
  return { do: "wait", reason: reasons.unknownMembers, message, recheckMs: 5_000 };
}

/** As a sentence that names them and what ends it; undefined when there are none. */
export function describeUnknown({ unknownMembers }: Observed): string | undefined {
  if (unknownMembers.length === 0) return undefined;
  const named = unknownMembers
    .map(({ id, peerUrls }) => `${hex(id)}${peerUrls.length > 0 ? ` (${peerUrls.join(", ")})` : ""}`)
    .join(", ");
  const commands = unknownMembers.map(({ id }) => `etcdctl member remove ${hex(id)}`).join("; ");
  return `etcd has members that this operator did not add: ${named}; remove them with ${commands}`;
}
