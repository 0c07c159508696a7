/** How many servers there are, and what becomes of those that are too many. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { healthyPrimary, wantedServers } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

/** The volume of a replica that went is deleted once nobody counts on it. */
export function leftovers(o: Observed): Plan {
  const primary = healthyPrimary(o);
  const extra = o.servers.filter(({ ordinal }) => ordinal >= wantedServers(o));
  if (!primary || extra.length === 0) return {};
  const followers = o.status.leadership?.followers ?? [];
  const gone = extra.filter(
    ({ pod, claim, name }) =>
      !pod && claim && !claim.deleting && !followers.includes(name) && !primary.facts.rewriting,
  );
  const actions = gone.map(
    ({ name, claim }) =>
      ({
        do: "deleteClaim",
        server: name,
        uid: claim?.uid ?? "",
        why: "the replica was scaled away",
      }) as const,
  );
  const names = extra.map(({ name }) => name).join(", ");
  return { actions, notReady: waitingFor(reasons.scaling, `${names} is one server too many`, 500) };
}
