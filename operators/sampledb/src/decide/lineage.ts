/**
 * Who has led, as replication ids tell. A status may be of an earlier time, as after a restore of the API server: servers
 * that have the history of a primary it does not know show that somebody has led since. Pure.
 */
import type { Leadership } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { serverNamed } from "./facts.ts";
import type { Plan } from "./plan.ts";
import { closedGuard } from "./upgrade.ts";

/** How many primaries are remembered. A server that was away for longer cannot be told from one with later data. */
const remembered = 50;
const noId = /^0*$/;

/** Whether this is the history of the recorded primary, or of one before it. Undefined when that was not recorded. */
export function isKnown(
  { replicationId, lineage }: Pick<Leadership, "replicationId" | "lineage">,
  id: string,
): boolean | undefined {
  if (id === replicationId) return true;
  return lineage?.includes(id);
}

/** Takes writes, or took some: one that was closed before it led has the history of the one before, and no more. */
export function isOpen({ guard }: Pick<ServerFacts, "guard">): boolean {
  return guard < closedGuard;
}

/** Servers that show that somebody has led since the status was written. */
export function showLater(o: Observed, leadership: Leadership): readonly Server[] {
  return o.servers.filter((server) => {
    const { claim } = server;
    if (claim && !claim.lost && (claim.epoch ?? 0) > (o.status.epoch ?? 0)) return true;
    const facts = factsOf(server);
    return facts !== undefined && hasLaterHistory(facts, leadership);
  });
}

function hasLaterHistory(facts: ServerFacts, leadership: Leadership): boolean {
  if (isKnown(leadership, facts.replicationId) !== false) return false;
  // A process that has just started has an id of its own, and no history yet.
  if (facts.role === "replica") return facts.offset > 1n;
  return isOpen(facts) || isKnown(leadership, facts.secondReplicationId) !== true;
}

/** What is recorded with a leadership: the histories that its primary, and those before it, had or went on from. */
export function withLineage(o: Observed, plan: Plan): Plan {
  const next = plan.status?.leadership;
  const before = o.status.leadership;
  if (!next || !before?.lineage || next.runId + next.replicationId === before.runId + before.replicationId)
    return plan;
  const leader = serverNamed(o, plan.status?.primary ?? o.status.primary);
  const facts = leader && factsOf(leader);
  const second = facts?.runId === next.runId ? facts.secondReplicationId : "";
  const ids = new Set([before.replicationId, second, ...before.lineage]);
  const lineage = [...ids].filter((id) => !noId.test(id) && id !== next.replicationId).slice(0, remembered);
  return { ...plan, status: { ...plan.status, leadership: { ...next, lineage } } };
}
