/** What someone changed by hand on pods and claims: labels and owners are put back. Nothing is restarted for it. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";

export function changedPod(o: Observed): Decision | undefined {
  const changed = o.members.find(({ pod }) => pod && !pod.deleting && pod.drifted);
  if (!changed) return undefined;
  const { name } = changed.record;
  const message = `labels and owners of the pod ${name} are put back`;
  return { do: "repairPod", member: name, reason: reasons.healing, message };
}

export function changedClaim(o: Observed): Decision | undefined {
  const changed = o.members.find(({ claim }) => claim && !claim.deleting && claim.drifted);
  if (!changed) return undefined;
  const { name } = changed.record;
  const message = `labels of the claim ${name} are put back`;
  return { do: "repairClaim", member: name, reason: reasons.healing, message };
}
