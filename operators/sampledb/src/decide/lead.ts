/** A primary leads: who follows it, how it is guarded, what its pods are labelled, and when it hands over. Pure. */
import { reasons } from "../api/conditions.ts";
import type { ServerFacts } from "../engine/info.ts";
import { minorOf } from "../engine/version.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { carriedOut, restoredMark } from "../observe/restores.ts";
import {
  conditionOf,
  followsPrimary,
  isClosedByUpgrade,
  isInSync,
  isMarked,
  nextEpoch,
  seenByPrimary,
  serverNamed,
  wantedServers,
} from "./facts.ts";
import { type Action, type NotReady, type Plan, type Told, waitingFor } from "./plan.ts";
import { recordedPromise } from "./promise.ts";
import { isOutdated, leavingReplica, rolloutWish } from "./rollout.ts";
import { closedGuard, isHidden } from "./upgrade.ts";

interface Primary {
  readonly server: Server;
  readonly facts: ServerFacts;
}

export function lead(o: Observed, primary: Primary): Plan {
  const attached = attach(o, primary);
  const guarded = guard(o, primary);
  const handed = handOver(o, primary);
  const followers = attached.followers;
  const { awaited: _, ...leadership } = o.status.leadership as NonNullable<Observed["status"]["leadership"]>;
  const behind = replicasBehind(o, primary);
  // While a server is away nobody knows which history it has.
  const begins = leadership.lineage === undefined && behind.length === 0;
  const next = {
    ...leadership,
    ...(begins && { lineage: [] }),
    replicationId: primary.facts.replicationId,
    podUid: primary.server.pod?.uid ?? leadership.podUid,
    guard: guarded.recorded,
    promise: recordedPromise(o),
    followers,
  };
  return {
    actions: [
      ...attached.actions,
      ...guarded.actions,
      ...handed.actions,
      ...relabel(o, primary),
      ...marks(o, primary),
    ],
    status: { leadership: next, fence: undefined, ...handed.status, ...attached.status },
    events: attached.events,
    ...readinessOf(o, primary, { handing: handed.notReady, behind }),
  };
}

/** Servers that should follow it and do not yet. */
function replicasBehind(o: Observed, primary: Primary): readonly Server[] {
  return o.servers.filter(
    (server) => server !== primary.server && server.ordinal < wantedServers(o) && !isInSync(server, primary),
  );
}

/** Everyone else follows it. Who does so is recorded first, because from then on it may acknowledge writes. */
function attach(o: Observed, { server, facts }: Primary) {
  const { followers = [] } = o.status.leadership ?? {};
  const ip = server.pod?.ip ?? "";
  const actions: Action[] = [];
  const events: Told[] = [];
  let status: Plan["status"] = {};
  const joining: string[] = [];
  for (const other of o.servers) {
    const its = factsOf(other);
    if (other === server || !its || other.ordinal >= wantedServers(o)) continue;
    // What an upgrade keeps to go back to stays as it is.
    if (other.name === o.status.upgrade?.held && !o.status.upgrade.pointOfNoReturn) continue;
    if (!followers.includes(other.name)) joining.push(other.name);
    else if (!followsPrimary(its, server)) {
      actions.push({ do: "follow", servers: [other.name], ip, drop: its.role === "primary" });
    }
    const bytes = its.role === "primary" ? divergence(its, facts) : undefined;
    if (bytes !== undefined && o.status.lastFailover?.from === other.name) {
      const lost = `${bytes} bytes of the replication stream that ${other.name} had and nobody else`;
      status = { lastFailover: { ...o.status.lastFailover, lost } };
      events.push({
        type: "Warning",
        reason: "WritesLost",
        message: `${lost}: plain acknowledgements, none by WAIT`,
      });
    }
  }
  const staying = followers.filter((name) => !mayForget(o, name, { server, facts }));
  return { actions, events, status, followers: [...staying, ...joining] };
}

/** What an old primary took in that the new one never had. */
function divergence(old: ServerFacts, primary: ServerFacts): bigint | undefined {
  if (old.replicationId !== primary.secondReplicationId) return undefined;
  const shared = primary.secondOffset - 1n;
  return old.offset > shared ? old.offset - shared : undefined;
}

/**
 * A follower that is not attached any more is forgotten when every other one has all that the primary had when it left:
 * then nothing that it acknowledged is known to it alone.
 */
function mayForget(o: Observed, name: string, primary: Primary): boolean {
  const left = o.departures.get(name);
  const server = serverNamed(o, name);
  // One that answers is about to be attached again.
  const isComing = server !== undefined && server.ordinal < wantedServers(o) && factsOf(server) !== undefined;
  if (left === undefined || isComing) return false;
  const others = (o.status.leadership?.followers ?? []).filter(
    (other) => other !== name && !o.departures.has(other),
  );
  return others.every((other) => {
    const follower = serverNamed(o, other);
    const seen = follower && seenByPrimary(follower, primary.facts);
    return seen !== undefined && seen.offset >= left;
  });
}

/** Raised on the primary before it is recorded, lowered after: the record never promises more than is so. */
function guard(o: Observed, { server, facts }: Primary): { recorded: number; actions: Action[] } {
  const { followers = [], guard: recorded = 0 } = o.status.leadership ?? {};
  // One that is about to go does not count: while it is away, writes go on without it.
  const leaving = leavingReplica(o);
  const close = followers.filter((name) => {
    const follower = serverNamed(o, name);
    if (!follower || follower === leaving || follower.pod?.deleting) return false;
    if (follower.ordinal >= wantedServers(o)) return false;
    const seen = seenByPrimary(follower, facts);
    return seen !== undefined && seen.lagSeconds < o.spec.durability.maxLagSeconds;
  });
  const wanted = Math.min(o.spec.durability.acknowledgements, o.spec.replicas, close.length);
  // An upgrade or a handover has ended writes here by a guard that nothing satisfies.
  const closes = isClosedByUpgrade(o.status.upgrade) || o.status.handover !== undefined;
  const { held, pointOfNoReturn } = o.status.upgrade ?? {};
  if ((held === server.name && !pointOfNoReturn) || (facts.guard >= closedGuard && closes))
    return { recorded, actions: [] };
  // It was given up, or nobody is there any more who would go on with it.
  if (facts.guard >= closedGuard) return { recorded: 0, actions: [{ do: "resume", server: server.name }] };
  if (wanted < recorded) return { recorded: wanted, actions: [] };
  if (facts.guard === wanted) return { recorded: wanted, actions: [] };
  return { recorded, actions: [{ do: "setGuard", server: server.name, guard: wanted }] };
}

function handOver(
  o: Observed,
  primary: Primary,
): { actions: Action[]; status: Plan["status"]; notReady?: NotReady } {
  const { handover } = o.status;
  const wish = wishToHandOver(o, primary);
  if (!wish) return { actions: [], status: { handover: undefined } };
  const { why, to } = wish;
  if (!to) {
    const message = `${primary.server.name} hands over when a replica is in sync and has its data on its volume: ${why}`;
    return {
      actions: [],
      status: { handover: undefined },
      notReady: waitingFor(reasons.handingOver, message, 500),
    };
  }
  const notReady = waitingFor(reasons.handingOver, `${primary.server.name} hands over to ${to}: ${why}`, 0);
  const server = serverNamed(o, to);
  const runId = (server && factsOf(server)?.runId) ?? "";
  if (handover?.to !== to || handover.from !== primary.server.name || handover.target?.runId !== runId) {
    const target = { runId, podUid: server?.pod?.uid ?? "", claimUid: server?.claim?.uid ?? "" };
    return { actions: [], status: { handover: { from: primary.server.name, to, why, target } }, notReady };
  }
  const epoch = nextEpoch(o);
  const actions: Action[] = [{ do: "handOver", from: primary.server.name, to, runId, epoch }];
  return { actions, status: {}, notReady: { ...notReady, recheckMs: 20 } };
}

/** Why the primary should be another one, and which. */
function wishToHandOver(o: Observed, primary: Primary): { why: string; to: string | undefined } | undefined {
  const { server } = primary;
  // An upgrade that changes the primary decides alone who it is.
  const phase = o.status.upgrade?.phase;
  if (phase === "Switching" || phase === "Verifying" || phase === "GoingBack") return undefined;
  const asked = o.handOverTo;
  if (asked !== undefined && asked !== server.name) {
    const target = serverNamed(o, asked);
    // One that would have to hand over itself at once is not led back to.
    if (target && isFit(o, target, primary) && isGoodPlace(target) && !isOutdated(o, target))
      return { why: "a person asked for it", to: asked };
  }
  const why = reasonToLeave(o, primary);
  if (why === undefined) return undefined;
  const rolling = rolloutWish(o) !== undefined;
  const fit = o.servers.filter(
    (other) =>
      isFit(o, other, primary) && isGoodPlace(other) && (!rolling || other.pod?.template === o.setTemplate),
  );
  // Nobody is better off: a drain of every node, no replica at all, or none that could write to its volume.
  if (fit.length === 0 && (o.spec.replicas === 0 || primary.facts.persistenceFailed)) return undefined;
  const byOffset = [...fit].sort((a, b) => {
    const [left, right] = [offsetOf(a, primary), offsetOf(b, primary)];
    return left === right ? a.ordinal - b.ordinal : left > right ? -1 : 1;
  });
  return { why, to: byOffset[0]?.name };
}

function reasonToLeave(o: Observed, { server, facts }: Primary): string | undefined {
  if (facts.persistenceFailed) return `${server.name} cannot write to its volume`;
  if (server.ordinal >= wantedServers(o)) return `${server.name} is one server too many`;
  if (server.pod?.deleting && o.spec.replicas > 0) return `the pod of ${server.name} is being deleted`;
  // Its pod counts as not ready then, so that no Service leads to it, though it serves.
  if (server.nodeLost && o.spec.replicas > 0) return `the node of ${server.name} does not report`;
  if (server.nodeCordoned && o.spec.replicas > 0) return `the node of ${server.name} is being drained`;
  return rolloutWish(o);
}

function isFit(o: Observed, server: Server, primary: Primary): boolean {
  return (
    server !== primary.server &&
    server.ordinal < wantedServers(o) &&
    server.pod?.ready === true &&
    !server.pod.deleting &&
    isInSync(server, primary) &&
    // A primary that goes in any case does not wait for what its successor has yet to write.
    (primary.server.pod?.deleting || !factsOf(server)?.rewriting) &&
    seenByPrimary(server, primary.facts) !== undefined
  );
}

/** Its node stays, and it can write to its volume. */
function isGoodPlace(server: Server): boolean {
  return !server.nodeCordoned && !server.nodeLost && !factsOf(server)?.persistenceFailed;
}

function offsetOf(server: Server, { facts }: Primary): bigint {
  return seenByPrimary(server, facts)?.offset ?? -1n;
}

/** The Services select by these. A replica serves reads while it is in sync; without one the primary does. */
function relabel(o: Observed, primary: Primary): Action[] {
  const readers = o.servers.filter((server) => server !== primary.server && isInSync(server, primary));
  return o.servers.flatMap((server): Action[] => {
    const { pod, name } = server;
    if (!pod || pod.deleting) return [];
    const hidden = isHidden(o, server);
    const role = hidden ? null : server === primary.server ? "primary" : "replica";
    const read = server === primary.server ? readers.length === 0 && !hidden : readers.includes(server);
    const right = pod.role === (role ?? "") && pod.read === read && !pod.mislabelled;
    return right ? [] : [{ do: "label", server: name, role, read }];
  });
}

/**
 * What a volume holds is written on its claim, which outlives the status. A server that is not done writing its file may
 * start again with something else.
 */
function marks(o: Observed, primary: Primary): Action[] {
  const { epoch = 0, restore } = o.status;
  const origin = restore?.phase === "Done" ? { restored: restoredMark(carriedOut(o.status)) } : {};
  return o.servers.flatMap((server): Action[] => {
    const { claim, name } = server;
    const facts = factsOf(server);
    if (!claim || !facts || facts.rewriting) return [];
    const leads = server === primary.server;
    if (!leads && !isInSync(server, primary)) return [];
    const databases = Math.max(claim.databases ?? 0, primary.facts.databases);
    const version = minorOf(facts.version);
    const marks = {
      ...{ epoch, ...(leads && { primaryEpoch: epoch }) },
      ...(facts.volume !== undefined && { identity: facts.volume }),
      ...{ databases, version, ...origin },
    };
    return isMarked(claim, marks) ? [] : [{ do: "markClaim", server: name, ...marks }];
  });
}

function readinessOf(
  o: Observed,
  primary: Primary,
  { handing, behind }: { readonly handing: NotReady | undefined; readonly behind: readonly Server[] },
): { notReady?: NotReady } {
  if (handing) return { notReady: handing };
  const full = o.servers.filter((server) => factsOf(server)?.persistenceFailed);
  if (full.length > 0) {
    const names = full.map(({ name }) => name).join(", ");
    return { notReady: waitingFor(reasons.diskFull, `cannot write to the volume: ${names}`) };
  }
  if (primary.server.pod?.ready === false) {
    const message = `${primary.server.name} leads, but its pod is not ready, so that no Service leads to it`;
    return { notReady: waitingFor(reasons.primaryUnreachable, message, 500) };
  }
  if (behind.length === 0) return {};
  const words = behind.map((server) => `${server.name} (${conditionOf(server)})`).join(", ");
  return { notReady: waitingFor(reasons.replicasMissing, `not in sync with the primary: ${words}`, 500) };
}
