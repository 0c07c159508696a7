/** How many servers run now. Pure. */
import { ordinalOf, serverName } from "../resources/names.ts";
import type { ClaimView, Observed } from "./observed.ts";

/** In these phases of an upgrade servers are replaced, and the primary hands over to a replica of the new version. */
const replacing: ReadonlySet<string> = new Set(["Replicas", "Switching", "Verifying", "Finishing"]);

/**
 * How many replicas there should be now. An upgrade adds one where that is needed: for the primary to hand over to, and
 * for WAIT to count on while another is replaced.
 */
export function replicasToRun({ spec, status }: Pick<Observed, "spec" | "status">): number {
  if (!replacing.has(status.upgrade?.phase ?? "")) return spec.replicas;
  const promised = Math.min(spec.durability.acknowledgements, spec.replicas);
  return Math.max(spec.replicas, promised + 1);
}

type Claims = ReadonlyMap<number, Pick<ClaimView, "epoch" | "deleting" | "lost">>;

/**
 * The primary is never among those that go, nor the one that a restore has filled: it hands over first. While nobody
 * knows who led, every server with data is asked; when the primary is lost, those that are awaited.
 */
export function serversToRun(
  o: Pick<Observed, "spec" | "status" | "database">,
  claims: Claims = new Map(),
): number {
  const { primary, promotion, restore, leadership } = o.status;
  if (isFilling(o)) return 0;
  const restored = restore?.phase === "Starting" ? restore.server : undefined;
  const names = [primary, promotion?.server, restored].filter((name) => name !== undefined);
  const asked = [...claims].filter(([ordinal, { epoch = 0, deleting, lost }]) => {
    const isAwaited = leadership ? leadership.awaited?.includes(serverName(o.database, ordinal)) : epoch > 0;
    return isAwaited && !deleting && !lost;
  });
  const ordinals = [
    ...names.map((name) => ordinalOf(o.database, name) ?? -1),
    ...asked.map(([ordinal]) => ordinal),
  ];
  return Math.max(1 + replicasToRun(o), ...ordinals.map((ordinal) => ordinal + 1));
}

/**
 * How many servers the StatefulSet makes. One that an upgrade adds waits for a template that was tried: with the present one
 * it would be outdated, and replaced, as soon as it runs.
 */
export function serversToMake(
  o: Parameters<typeof serversToRun>[0],
  claims: Claims,
  { tried, present }: { readonly tried: boolean; readonly present: number },
): number {
  const servers = serversToRun(o, claims);
  if (tried) return servers;
  const { upgrade: _, ...status } = o.status;
  return Math.min(servers, Math.max(serversToRun({ ...o, status }, claims), present));
}

/** No server runs while a volume is filled, and none ever runs on an empty volume when a backup was asked for. */
function isFilling({ spec, status }: Pick<Observed, "spec" | "status">): boolean {
  const { restore, restores = [], epoch } = status;
  if (restore?.phase === "Stopping" || restore?.phase === "Filling") return true;
  const isRestored = restores.length > 0 || restore?.phase === "Starting" || restore?.phase === "Done";
  const hasData = epoch !== undefined || isRestored;
  return spec.restoreFrom !== undefined && !hasData;
}
