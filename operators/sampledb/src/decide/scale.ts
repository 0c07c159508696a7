/** How many servers there are, and what becomes of those that are too many. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { ordinalOf } from "../resources/names.ts";
import { healthyPrimary, wantedServers } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

/** The primary is never among those that go: it hands over first. */
export function serversToRun(o: Pick<Observed, "spec" | "status" | "database">): number {
  const { primary, promotion } = o.status;
  if (isFilling(o)) return 0;
  const names = [primary, promotion?.server].filter((name) => name !== undefined);
  const highest = Math.max(-1, ...names.map((name) => ordinalOf(o.database, name) ?? -1));
  return Math.max(1 + o.spec.replicas, highest + 1);
}

/** No server runs while a volume is filled, and none ever runs on an empty volume when a backup was asked for. */
function isFilling({ spec, status }: Pick<Observed, "spec" | "status">): boolean {
  const { restore, epoch } = status;
  if (restore?.phase === "Stopping" || restore?.phase === "Filling") return true;
  const hasData = epoch !== undefined || restore?.phase === "Starting" || restore?.phase === "Done";
  return spec.restoreFrom !== undefined && !hasData;
}

/** The volume of a replica that went is deleted once nobody counts on it. */
export function leftovers(o: Observed): Plan {
  const primary = healthyPrimary(o);
  const extra = o.servers.filter(({ ordinal }) => ordinal >= wantedServers(o));
  if (!primary || extra.length === 0) return {};
  const followers = o.status.leadership?.followers ?? [];
  const gone = extra.filter(
    ({ pod, claim, name }) => !pod && claim && !claim.deleting && !followers.includes(name),
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
  return { actions, verdict: waitingFor(reasons.scaling, `${names} is one server too many`, 500) };
}
