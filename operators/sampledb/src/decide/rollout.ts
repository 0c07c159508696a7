/** Pods that are not as the spec says are replaced: replicas first, one at a time, then the primary by a handover. Pure. */
import { reasons } from "../api/conditions.ts";
import type { ServerFacts } from "../engine/info.ts";
import { compareVersions, minorOf } from "../engine/version.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { tlsSecretName } from "../resources/names.ts";
import { healthyPrimary, isInSync, wantedServers } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

interface Primary {
  readonly server: Server;
  readonly facts: ServerFacts;
}

/** Why the primary should hand over, as far as pods are concerned. */
export function rolloutWish(o: Observed): string | undefined {
  const primary = healthyPrimary(o);
  if (!primary || isUpgrading(o)) return undefined;
  const others = o.servers.filter((server) => server !== primary.server);
  const done = others.every((server) => !isOutdated(o, server));
  return isOutdated(o, primary.server) && done && o.spec.replicas > 0
    ? `the pod of ${primary.server.name} is outdated`
    : undefined;
}

export function rollout(o: Observed): Plan {
  if (isHeldByUpgrade(o)) return {};
  if (o.trial) {
    const reason = o.trial.state === "failed" ? reasons.rolloutFailed : reasons.rollingOut;
    return { notReady: waitingFor(reason, o.trial.message) };
  }
  const outdated = o.servers.filter((server) => isOutdated(o, server));
  if (outdated.length === 0) return {};
  const apart = outdated.filter(({ pod }) => pod?.tls !== tlsSecretName(o.database, o.spec));
  if (apart.length > 0) return replaceAll(apart);
  const primary = healthyPrimary(o);
  // What serves nobody is replaced at once: a corrected spec must reach pods that cannot start.
  const stuck = outdated.find(
    (server) => !factsOf(server) && (server.pod?.obstacle !== undefined || server.pod?.ended),
  );
  if (stuck) return replace(stuck, "its pod cannot start, and the spec has changed");
  if (!primary) return {};
  const next = nextReplica(o, primary);
  if (next) {
    const behind = notInSync(o, next, primary);
    if (behind.length > 0) {
      const names = behind.map(({ name }) => name).join(", ");
      return {
        notReady: waitingFor(reasons.rollingOut, `${next.name} is replaced when ${names} is in sync`, 500),
      };
    }
    const left = primary.facts.replicas.filter(({ host, online }) => online && host !== next.pod?.ip).length;
    if (primary.facts.guard > left) {
      const message = `${next.name} is replaced when ${primary.server.name} takes writes without it`;
      return { notReady: waitingFor(reasons.rollingOut, message, 50) };
    }
    return replace(next, "its pod is outdated");
  }
  if (isUpgrading(o)) return {};
  if (o.spec.replicas === 0)
    return replace(primary.server, "its pod is outdated, and there is no replica to hand over to");
  return {
    notReady: waitingFor(
      reasons.rollingOut,
      `${primary.server.name} is replaced when it has handed over`,
      200,
    ),
  };
}

/** The replica that is about to be replaced: the primary's guard must not count on it. */
export function leavingReplica(o: Observed): Server | undefined {
  const primary = healthyPrimary(o);
  if (!primary || o.trial || isHeldByUpgrade(o)) return undefined;
  const next = nextReplica(o, primary);
  return next && notInSync(o, next, primary).length === 0 ? next : undefined;
}

function nextReplica(o: Observed, primary: Primary): Server | undefined {
  const replicas = o.servers.filter((server) => server !== primary.server && isOutdated(o, server));
  const order = (server: Server) => Number(isTooOld(o, server, primary));
  return replicas.sort((a, b) => order(b) - order(a) || b.ordinal - a.ordinal)[0];
}

/** An older version cannot read a full copy of a newer one: it follows when its pod was made again, and not before. */
function isTooOld(o: Observed, server: Server, primary: Primary): boolean {
  const facts = factsOf(server);
  if (!facts || !isOutdated(o, server) || isInSync(server, primary)) return false;
  return compareVersions(minorOf(facts.version), minorOf(primary.facts.version)) < 0;
}

/** Replicas that must come back before another one goes. One that is about to stop still follows. */
function notInSync(o: Observed, next: Server, primary: Primary): Server[] {
  return o.servers.filter(
    (server) =>
      server !== primary.server &&
      server !== next &&
      server.ordinal < wantedServers(o) &&
      !isTooOld(o, server, primary) &&
      (server.pod?.deleting || !isInSync(server, primary)),
  );
}

/** In between, an upgrade keeps the old primary to go back to, and decides itself. */
function isHeldByUpgrade({ status }: Observed): boolean {
  const phase = status.upgrade?.phase;
  return phase === "Switching" || phase === "Verifying" || phase === "GoingBack";
}

/** The upgrade decides when the primary changes. */
function isUpgrading({ status }: Observed): boolean {
  return status.upgrade !== undefined;
}

export function isOutdated(o: Observed, { pod }: Server): boolean {
  return pod !== undefined && !pod.deleting && o.setTemplate !== undefined && pod.template !== o.setTemplate;
}

/** Servers with and without TLS, or of two authorities, do not talk to each other: all change at once, with their clients. */
function replaceAll(servers: readonly Server[]): Plan {
  const why = "servers with another certificate, or with none, cannot talk to each other";
  return {
    actions: servers.flatMap(({ name, pod }) =>
      pod ? [{ do: "deletePod", server: name, uid: pod.uid, why } as const] : [],
    ),
    notReady: waitingFor(reasons.rollingOut, `all servers are replaced at once: ${why}`, 200),
  };
}

function replace(server: Server, why: string): Plan {
  return {
    actions: [{ do: "deletePod", server: server.name, uid: server.pod?.uid ?? "", why }],
    notReady: waitingFor(reasons.rollingOut, `${server.name} is replaced: ${why}`, 200),
  };
}
