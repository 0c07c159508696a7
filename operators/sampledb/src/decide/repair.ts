/** What a server lost is given back: damaged volumes are filled again, empty ones known as such, passwords learned. Pure. */
import { reasons } from "../api/conditions.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import {
  hasStopped,
  healthyPrimary,
  isClosedByUpgrade,
  isEmpty,
  serverNamed,
  wantedServers,
} from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

/** Whether a server does not start because its files are not what it wrote. */
export function isDamaged({ pod }: Server): boolean {
  return damage.test(pod?.obstacle ?? "");
}

/** What redis-server says last when its files are not what it wrote. */
const damage = /append only file|Fatal error loading the DB|Wrong signature|Short read or OOM|RDB CRC error/i;

/** An upgrade has ended writes and may still change the primary. When it has gone back, the old one leads for good. */
function isUncertain(upgrade: Observed["status"]["upgrade"]): boolean {
  return isClosedByUpgrade(upgrade) && !(upgrade?.phase === "GoingBack" && !upgrade.candidate);
}

/** Only while a primary leads: then nothing is on that volume that nobody else has. */
export function repair(o: Observed): Plan {
  const primary = healthyPrimary(o);
  const { upgrade, promotion } = o.status;
  if (!primary || isUncertain(upgrade) || promotion) return {};
  const found = o.servers.find(
    (server) =>
      server !== primary.server &&
      // The way back from an upgrade leads over it, unless another server leads at its end.
      (server.name !== upgrade?.held || upgrade.pointOfNoReturn || upgrade.phase === "GoingBack") &&
      server.ordinal < wantedServers(o) &&
      !factsOf(server) &&
      isDamaged(server),
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

/**
 * A server found its volume empty, though its claim says what it holds, or nobody leads who could fill it. The claim is
 * corrected: when the process starts again, the files that it made meanwhile look like data.
 */
export function wiped(o: Observed): Plan {
  const isLost = o.status.leadership !== undefined && !healthyPrimary(o);
  const found = o.servers.filter((server) => {
    const { claim } = server;
    if (!isEmpty(server) || !claim) return false;
    return claim.epoch === undefined ? isLost : claim.epoch > 0;
  });
  return {
    actions: found.map(({ name }) => ({ do: "markClaim", server: name, epoch: 0, primaryEpoch: 0 })),
  };
}

/** How long a server may shut the operator out before it starts again. */
const shutOutMs = 5_000;
/** Where nobody leads, as far as anybody knows, it may be the one that did, with clients of its own. */
const unknownMs = 30_000;

const shutOut: Readonly<Record<string, string>> = {
  denied: "it does not accept the operator's password, and learns it when it starts",
  untrusted: "it presents a certificate that is not trusted, and reads the present one when it starts",
};

/**
 * A server that does not know the operator's password cannot be told another one, and one that presents a certificate of
 * before cannot be told to read it again; but each reads its files when it starts. One at a time. A primary that is known
 * is fenced as a silent one is, unless its process has ended: another of that name is no primary, and may be the one that
 * has to be asked.
 */
export function lockedOut(o: Observed): Plan {
  const primary = healthyPrimary(o);
  if (!primary && (o.status.promotion || mayStillLead(o))) return {};
  const others = o.servers.filter((server) => server !== primary?.server && server.pod);
  const patienceMs = primary ? shutOutMs : unknownMs;
  const found = others.find(
    ({ answer, silentMs }) => answer && shutOut[answer.state] && silentMs >= patienceMs,
  );
  if (!found?.pod || !found.answer || found.name === o.status.upgrade?.held) return {};
  const why = shutOut[found.answer.state] as string;
  // Without a primary nobody knows whether the others are any better.
  const isFree = others.every(({ pod }) => !pod?.deleting && (!primary || pod?.ready));
  return {
    actions: isFree ? [{ do: "deletePod", server: found.name, uid: found.pod.uid, why }] : [],
    notReady: waitingFor(reasons.replicasMissing, `${found.name} is replaced: ${why}`, 500),
  };
}

/** Whether the process that is recorded as the primary may be there and take writes. */
function mayStillLead(o: Observed): boolean {
  const { leadership, primary } = o.status;
  const server = serverNamed(o, primary);
  return (
    leadership !== undefined &&
    server !== undefined &&
    !hasStopped(o, server, leadership.podUid, leadership.runId)
  );
}
