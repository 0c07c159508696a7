/** Who the primary is. Redis elects nobody, so this does. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Leadership } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import { minorOf } from "../engine/version.ts";
import { type ClaimView, factsOf, type Observed, type Server } from "../observe/observed.ts";
import { serversToRun } from "../observe/servers-to-run.ts";
import { choose, firstChoice, laterPrimary, outdatedChoice } from "./choose.ts";
import {
  hasLiveLink,
  hasStopped,
  healthyPrimary,
  isClosedByUpgrade,
  isUnattached,
  nextEpoch,
  patienceMs,
  serverNamed,
} from "./facts.ts";
import { lead } from "./lead.ts";
import { withLineage } from "./lineage.ts";
import { type Plan, waitingFor } from "./plan.ts";
import { promised } from "./promise.ts";
import { isLostUnserved, lostByApproval } from "./restore.ts";
import { isHidden, switchedOver } from "./upgrade.ts";

/** How long a primary that answers may be busy before a replica that does not hear it takes over. */
export const busyPatienceMs = 60_000;
/** Redis looks at its replicas once a second, and rounds. */
const roundingSeconds = 2;

export function leadership(o: Observed): Plan {
  return withLineage(o, decided(o));
}

function decided(o: Observed): Plan {
  // Nobody leads while the volumes are filled, nor with nothing where a restore was lost.
  if (serversToRun(o) === 0 || isLostUnserved(o)) return {};
  const switched = switchedOver(o);
  if (switched) return switched;
  if (o.status.promotion) return pendingPromotion(o, o.status.promotion);
  if (!o.status.leadership) return firstChoice(o);
  // Before anything else: a primary that has handed over may not know it yet.
  const handed = adoptedHandover(o);
  if (handed) return handed;
  const primary = healthyPrimary(o);
  if (primary) return lead(o, primary);
  const later = laterPrimary(o, o.status.leadership);
  if (later) return later;
  return lost(o, o.status.primary, o.status.leadership.podUid, o.status.leadership.runId);
}

/** The choice is recorded: now it is made, or another one is chosen when the process has gone. */
function pendingPromotion(o: Observed, promotion: NonNullable<Observed["status"]["promotion"]>): Plan {
  const { server: name, runId, podUid, claimUid, epoch, why, loss } = promotion;
  const server = serverNamed(o, name);
  const facts = server && factsOf(server);
  const notReady = waitingFor(reasons.promoting, `${name} becomes the primary: ${why}`, 0);
  if (!facts || facts.runId !== runId) {
    // The choice may be of an earlier time, and another leads since.
    const later = o.status.leadership && laterPrimary(o, o.status.leadership);
    return later ?? lost(o, name, podUid, runId);
  }
  if (facts.role === "replica") {
    const outdated = outdatedChoice(o, name);
    if (outdated) return outdated;
    const others = o.servers.filter((other) => other !== server && other.pod?.role === "primary");
    return {
      actions: [
        { do: "promote", server: name, runId },
        ...(isHidden(o, server as Server)
          ? []
          : [{ do: "label", server: name, role: "primary", read: true } as const]),
        ...others.map((other) => ({ do: "label", server: other.name, role: null, read: false }) as const),
      ],
      notReady,
    };
  }
  const from = o.status.primary ?? name;
  const unrestored = lostByApproval(o, server as Server);
  const isFirst = o.status.epoch === undefined && !o.servers.some(({ claim }) => claim?.epoch);
  return {
    status: {
      primary: name,
      epoch,
      // The spec may ask for another by now, and an upgrade leads there.
      ...(isFirst && { imageVersion: minorOf(facts.version) }),
      leadership: {
        ...{ runId, podUid, claimUid, replicationId: facts.replicationId },
        ...{ guard: 0, promise: promised(o), followers: [] },
      },
      promotion: undefined,
      fence: undefined,
      handover: undefined,
      ...(o.status.leadership
        ? { lastFailover: { at: new Date(o.nowMs).toISOString(), from, to: name, why, lost: loss } }
        : {}),
      ...unrestored.status,
    },
    ...(!isClosedByUpgrade(o.status.upgrade) && { opens: name }),
    events: [
      { type: "Normal", reason: "PrimaryMade", message: `${name} is the primary (epoch ${epoch}): ${why}` },
      ...(unrestored.events ?? []),
    ],
    notReady,
  };
}

/** The process that a handover led to, when it has happened, though its end was not recorded. */
function takenOver(
  o: Observed,
): Pick<Leadership, "runId" | "podUid" | "claimUid" | "replicationId"> | undefined {
  const { handover, leadership } = o.status;
  const server = serverNamed(o, handover?.to);
  if (!handover || !leadership || !server) return undefined;
  const { pod, claim } = server;
  const facts = factsOf(server);
  const isAfter = (its: ServerFacts | undefined) => its?.secondReplicationId === leadership.replicationId;
  if (pod && claim && facts?.role === "primary" && isAfter(facts)) {
    const { runId, replicationId } = facts;
    return { runId, podUid: pod.uid, claimUid: claim.uid, replicationId };
  }
  const { target } = handover;
  if (!target || !claim || claim.uid !== target.claimUid || !isMarkedNext(o, claim)) return undefined;
  // It may take writes, and is not reached or has stopped. Who followed it has its history; otherwise nobody has.
  const its = o.servers
    .map(factsOf)
    .find((each) => isAfter(each) && each?.replicationId !== leadership.replicationId);
  return { ...target, replicationId: its?.replicationId ?? "" };
}

/** Its claim says that it leads, and none says that another did since. */
function isMarkedNext({ status, servers }: Observed, { primaryEpoch = 0 }: ClaimView): boolean {
  return (
    primaryEpoch > (status.epoch ?? 0) && servers.every(({ claim }) => (claim?.epoch ?? 0) <= primaryEpoch)
  );
}

function adoptedHandover(o: Observed): Plan | undefined {
  const { handover } = o.status;
  const led = takenOver(o);
  if (!handover || !led) return undefined;
  const marked = serverNamed(o, handover.to)?.claim?.primaryEpoch ?? 0;
  return {
    status: {
      primary: handover.to,
      epoch: marked > (o.status.epoch ?? 0) ? marked : nextEpoch(o),
      leadership: {
        ...led,
        guard: 0,
        promise: promised(o),
        // It was told to follow at the moment of the handover.
        followers: [handover.from],
      },
      handover: undefined,
      fence: undefined,
    },
    events: [
      {
        type: "Normal",
        reason: "HandedOver",
        message: `${handover.from} handed over to ${handover.to}: ${handover.why}`,
      },
    ],
    notReady: waitingFor(reasons.handingOver, `${handover.to} has taken over`, 0),
  };
}

/** The primary does not lead. Only when it has stopped for certain is another chosen. */
function lost(o: Observed, name: string | undefined, podUid: string, runId: string): Plan {
  const server = serverNamed(o, name);
  if (!server || hasStopped(o, server, podUid, runId)) return choose(o, `${name} has stopped`);
  const busy = busyPrimary(o, server);
  if (busy) return busy;
  const linked = o.servers.filter((other) => other !== server && hasLiveLink(other));
  if (linked.length > 0) {
    const names = linked.map((other) => other.name).join(", ");
    const message = `the operator cannot reach ${name}, but ${names} can: nothing is done`;
    return { notReady: waitingFor(reasons.primaryUnreachable, message, 500) };
  }
  if (server.answer?.state !== "busy" && server.silentMs < patienceMs && !server.pod?.deleting) {
    return { notReady: waitingFor(reasons.primaryUnreachable, `${name} does not answer`, 250) };
  }
  return fence(o, server);
}

/**
 * A process that answers lives, and its clients may be served: it is left alone. Only replicas gain from stopping it, when
 * they have heard nothing either for long.
 */
function busyPrimary(o: Observed, { name, answer, busyMs, pod }: Server): Plan | undefined {
  if (answer?.state !== "busy" || pod?.deleting) return undefined;
  const others = o.servers.filter((other) => other.name !== name && factsOf(other));
  if (busyMs >= busyPatienceMs && others.length > 0 && !others.some(hasLiveLink)) return undefined;
  const message = `${name} lives, but cannot do what the operator asks (${answer.message}): ${remedy(answer.message)}`;
  return { notReady: waitingFor(reasons.primaryBusy, message, 500) };
}

function remedy(message: string): string {
  if (message.startsWith("BUSY"))
    return "a script runs; SCRIPT KILL ends one that has written nothing, and deleting the pod ends any";
  if (message.includes("max number of clients"))
    return "close connections of applications, or raise maxclients in spec.settings and delete the pod, which reads it when it starts";
  return "nothing is done";
}

/**
 * A silent process may still take writes. It stops for certain when its pod is gone, or when it has too few replicas
 * left: those that we can ask are taken away from it, and fewer than its guard remain.
 */
function fence(o: Observed, server: Server): Plan {
  const { status, spec } = o;
  const { followers = [] } = status.leadership ?? {};
  // A server that was to be promoted may lead already, and its guard is not that of the one before.
  const guard = status.promotion ? 0 : (status.leadership?.guard ?? 0);
  const uid = server.pod?.uid ?? "";
  const answering = o.servers.filter((other) => other !== server && factsOf(other));
  const attached = answering
    .filter((other) => !isUnattached(factsOf(other) as never))
    .map((other) => other.name);
  const begun = status.fence?.podUid === uid;
  if (!begun || attached.length > 0) {
    return {
      actions: [
        { do: "detach", servers: attached },
        ...(server.pod?.role === "primary"
          ? [{ do: "label", server: server.name, role: null, read: false } as const]
          : []),
        ...(server.pod && !server.pod.deleting
          ? [
              {
                do: "deletePod",
                server: server.name,
                uid,
                graceSeconds: 1,
                why: "the silent primary must stop before another is made",
              } as const,
            ]
          : []),
      ],
      status: { fence: { server: server.name, podUid: uid, since: new Date(o.nowMs).toISOString() } },
      events: begun
        ? []
        : [
            {
              type: "Warning",
              reason: reasons.fencing,
              message: `${server.name} is silent and is stopped before another primary is made`,
            },
          ],
      notReady: waitingFor(reasons.fencing, `${server.name} is being stopped`, 200),
    };
  }
  const left = followers.filter((name) => !answering.some((other) => other.name === name));
  const sinceMs = o.nowMs - Date.parse(status.fence?.since ?? "");
  const neededMs = (spec.durability.maxLagSeconds + roundingSeconds) * 1_000;
  if (guard > left.length) {
    if (sinceMs >= neededMs)
      return choose(o, `${server.name} was silent and takes no writes without replicas`);
    const message = `${server.name} is silent; without replicas it takes no writes after ${neededMs / 1_000} s`;
    return { notReady: waitingFor(reasons.fencing, message, Math.min(500, neededMs - sinceMs + 1)) };
  }
  const why = server.nodeLost ? ", and its node does not report" : "";
  const message =
    `${server.name} is silent${why}, and nothing proves that it has stopped: it may take writes with ` +
    (left.length > 0 ? `${left.join(", ")}, which cannot be asked` : "no replicas");
  return { notReady: waitingFor(reasons.fencing, message, 500) };
}
