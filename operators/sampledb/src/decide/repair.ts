/** A replica that cannot read its own files gets an empty volume and copies the primary. Pure. */
import { reasons } from "../api/conditions.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { healthyPrimary, wantedServers } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

/** Whether a server does not start because its files are not what it wrote. */
export function isDamaged({ pod }: Server): boolean {
  return damage.test(pod?.obstacle ?? "");
}

/** What redis-server says last when its files are not what it wrote. */
const damage = /append only file|Fatal error loading the DB|Wrong signature|Short read or OOM|RDB CRC error/i;

/** Only while a primary leads: then nothing is on that volume that nobody else has. */
export function repair(o: Observed): Plan {
  const primary = healthyPrimary(o);
  if (!primary || o.status.upgrade || o.status.promotion) return {};
  const found = o.servers.find(
    (server) =>
      server !== primary.server && server.ordinal < wantedServers(o) && !factsOf(server) && isDamaged(server),
  );
  if (!found?.pod || !found.claim) return {};
  const why = `its data is damaged, and ${primary.server.name} has all of it (${found.pod.obstacle})`;
  return {
    actions: [
      ...(found.claim.deleting
        ? []
        : [{ do: "deleteClaim", server: found.name, uid: found.claim.uid, why } as const]),
      ...(found.pod.deleting
        ? []
        : [{ do: "deletePod", server: found.name, uid: found.pod.uid, why } as const]),
    ],
    notReady: waitingFor(reasons.replicasMissing, `${found.name} gets an empty volume: ${why}`, 500),
  };
}
