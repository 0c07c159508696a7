/** Which of several servers leads, as far as they can tell themselves. Pure. */
import type { ServerFacts } from "./info.ts";

/**
 * The primary. An old one may not know yet that another took over, or is kept as it was to go back to: of two, the one
 * that went on from the other's history leads. Undefined when there is none, and when it cannot be told.
 */
export function leaderOf<T extends { readonly facts: LineageFacts }>(servers: readonly T[]): T | undefined {
  const primaries = servers.filter(({ facts }) => facts.role === "primary");
  const replaced = new Set(primaries.map(({ facts }) => facts.secondReplicationId));
  const [leader, ...others] = primaries.filter(({ facts }) => !replaced.has(facts.replicationId));
  return others.length === 0 ? leader : undefined;
}

type LineageFacts = Pick<ServerFacts, "role" | "replicationId" | "secondReplicationId">;
