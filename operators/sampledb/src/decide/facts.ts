/** Small truths about what was observed, that several policies share. Pure. */

import type { ConnectedReplica, ServerFacts } from "../engine/info.ts";
import { nowhere, redisPort } from "../engine/redis.ts";
import { type ClaimView, factsOf, type Observed, type Server } from "../observe/observed.ts";
import { replicasToRun } from "../observe/servers-to-run.ts";

/** How long a primary may be silent before it is taken for lost. */
export const patienceMs = 2_000;

export function wantedServers(o: Observed): number {
  return 1 + replicasToRun(o);
}

export function serverNamed(o: Observed, name: string | undefined): Server | undefined {
  return name === undefined ? undefined : o.servers.find((server) => server.name === name);
}

/** The primary that was recorded, if it is that very process and leads. */
export function healthyPrimary(o: Observed): { server: Server; facts: ServerFacts } | undefined {
  const { leadership, primary } = o.status;
  const server = serverNamed(o, primary);
  const facts = server && factsOf(server);
  if (!server || !facts || !leadership) return undefined;
  return facts.role === "primary" && facts.runId === leadership.runId ? { server, facts } : undefined;
}

/** The process that led is gone, or has become a replica and takes no writes. */
export function hasStopped(
  o: Observed,
  { pod, answer, name }: Server,
  podUid: string,
  runId: string,
): boolean {
  if (!pod || pod.uid !== podUid || pod.stopped || pod.ended) return true;
  if (answer?.state === "facts") return answer.facts.runId !== runId || answer.facts.role === "replica";
  // A primary never loads: this is a process after it.
  if (answer?.state === "loading") return true;
  // Nobody listens there. A rejected packet looks the same, so replicas must agree.
  return answer?.state === "refused" && !o.servers.some((other) => other.name !== name && hasLiveLink(other));
}

/** A replica that hears its primary. */
export function hasLiveLink(server: Server): boolean {
  const facts = factsOf(server);
  return facts?.role === "replica" && facts.linkUp && (facts.silentSeconds ?? 99) * 1_000 <= patienceMs;
}

/** It looks for a primary where nobody is. */
export function isUnattached(facts: ServerFacts): boolean {
  return facts.role === "replica" && facts.upstream?.host === nowhere.host;
}

/**
 * It has started on another volume than the one that the marks on its claim speak of: that one was wiped. The first process
 * after that finds nothing, and the next one finds the files of the first.
 */
export function isReplaced(server: Server): boolean {
  const identity = factsOf(server)?.volume;
  return Boolean(server.claim?.identity && identity && server.claim.identity !== identity);
}

/** It has started on an empty volume and nobody has given it data since. */
export function isEmpty(server: Server): boolean {
  const facts = factsOf(server);
  if (!facts || !isUnattached(facts)) return false;
  const { port } = facts.upstream ?? {};
  return (
    port === nowhere.portWhenEmpty ||
    (port === nowhere.portWithData && facts.keys === 0 && isReplaced(server))
  );
}

export function followsPrimary(facts: ServerFacts, primary: Server): boolean {
  const { upstream } = facts;
  return facts.role === "replica" && upstream?.host === primary.pod?.ip && upstream?.port === redisPort;
}

/** It follows the primary and has all of its data but the last moments. */
export function isInSync(server: Server, primary: { server: Server; facts: ServerFacts }): boolean {
  const facts = factsOf(server);
  return (
    facts !== undefined &&
    followsPrimary(facts, primary.server) &&
    facts.linkUp &&
    !facts.syncing &&
    facts.replicationId === primary.facts.replicationId
  );
}

/** The primary's own view of a replica. */
export function seenByPrimary(server: Server, primary: ServerFacts): ConnectedReplica | undefined {
  return primary.replicas.find(({ host, online }) => online && host === server.pod?.ip);
}

/** What is written on a claim about its data; what is not named here is left as it is. */
export type ClaimMarks = Partial<
  Pick<ClaimView, "epoch" | "primaryEpoch" | "identity" | "databases" | "restored" | "version">
>;

export function isMarked(claim: ClaimView, marks: ClaimMarks): boolean {
  const names = Object.keys(marks) as (keyof ClaimMarks)[];
  return names.every((name) => claim[name] === marks[name]);
}

/** Writes have ended in these phases, or are about to end: nobody but the upgrade itself lets them begin again. */
export function isClosedByUpgrade(
  upgrade: Pick<NonNullable<Observed["status"]["upgrade"]>, "phase"> | undefined,
): boolean {
  return upgrade?.phase === "Switching" || upgrade?.phase === "Verifying" || upgrade?.phase === "GoingBack";
}

/** Of the next primary: later than all that is recorded, in the status or on claims. */
export function nextEpoch({ status, servers }: Pick<Observed, "status" | "servers">): number {
  const epochs = servers.map(({ claim }) => claim?.epoch ?? 0);
  return Math.max(status.epoch ?? 0, status.promotion?.epoch ?? 0, ...epochs) + 1;
}

/** What keeps a server from following, in a few words. */
export function conditionOf(server: Server): string {
  const facts = factsOf(server);
  if (!server.pod) return "its pod is missing";
  if (server.pod.obstacle !== undefined) return server.pod.obstacle;
  if (server.nodeLost) return "its node does not report";
  if (server.answer?.state === "busy") return server.answer.message;
  if (server.answer?.state === "denied") return "it does not accept the operator's password";
  if (server.answer?.state === "untrusted") return "it presents a certificate that is not trusted";
  if (!facts) return server.answer?.state === "loading" ? "it loads its data" : "it does not answer";
  return facts.syncing ? "it receives a full copy" : `it connects to port ${redisPort}`;
}
