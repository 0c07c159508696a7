/** The deletion of a cluster: a final backup, the members, the volumes, each as the spec says. */
import { hash } from "node:crypto";
import { done, fail, type ObjectMeta, type Outcome, waiting } from "keelson";
import type { EtcdClusterObject } from "../api/cluster.ts";
import { conditions, reasons } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { changeOfSpec } from "./step.ts";

const reason = reasons.deleting;

/** One reconcile of a cluster as long as it lives. */
export type ReconcilePass = (cluster: EtcdClusterObject, ctx: EtcdContext) => Promise<Outcome>;

export async function finalize(
  cluster: EtcdClusterObject,
  ctx: EtcdContext,
  pass: ReconcilePass,
): Promise<Outcome> {
  const { own } = ctx;
  // Deleted with --cascade=orphan: everything stays, and a cluster of the same name adopts it.
  if (ctx.orphaned) return done();
  const backup = await finalBackup(cluster, ctx);
  const unfinished = backup ?? (await replacement(cluster, ctx));
  if (unfinished) {
    // Either needs a cluster that serves, whatever state it was deleted in.
    // The version that runs will do: one that cannot be reached, or takes a rollout, would only be in the way.
    const { spec, status = {} } = cluster;
    const { version } = status.rollout?.recipe ?? status.template?.recipe ?? spec;
    // Nobody joins for the backup, unless it replaces a member whose claim goes with its pod.
    const isKept = backup && own.claims.list().every(isActive);
    const size = isKept ? status.members?.length || spec.size : spec.size;
    const kept = { ...spec, paused: false, hibernate: false, version, size };
    const outcome = await pass({ ...cluster, spec: kept }, ctx);
    if (outcome.outcome !== "failed" && outcome.recheckMs !== undefined) ctx.recheck(outcome.recheckMs);
    // What keeps the cluster from serving keeps the backup from being taken, and members from being replaced.
    if (unfinished.outcome === "waiting" && outcome.outcome !== "done")
      return waiting(reason, `${unfinished.message}; ${obstacleOf(outcome, backup)}`);
    return unfinished;
  }
  const message = "the members are stopped: the cluster is deleted";
  ctx.setCondition({ type: conditions.available, status: "False", reason, message });
  if (own.pods.list().some(isActive)) ctx.event("Normal", reason, "the members are stopped");
  for (const key of own.trials.entries().keys()) await own.trials.delete(key);
  for (const key of own.pods.entries().keys()) {
    // Asked for again before each one ends: someone may be deleting claims at this moment.
    if (await isDoomed(cluster, ctx, key)) return waiting(reason, doomedWords(ctx, [key]), { recheckMs: 0 });
    await own.pods.delete(key);
  }
  const left = own.pods.list().map(({ metadata }) => metadata.name);
  if (left.length > 0) return waiting(reason, `${left.join(", ")}: the members are stopping`);
  if (cluster.spec.deletion.volumes === "Remove") {
    // Nothing brings the data back: a person who asks for Keep by now still gets it.
    const change = own.claims.list().some(isActive) ? await changeOfSpec({ cluster, ctx }) : undefined;
    if (change !== undefined)
      return waiting(reason, `the volumes are not deleted yet: ${change}`, { recheckMs: 500 });
    if (own.claims.list().some(isActive)) ctx.event("Normal", "VolumeDeleted", "the volumes are deleted");
    for (const key of own.claims.entries().keys()) await own.claims.delete(key);
    if (own.claims.list().length > 0)
      return waiting(
        reason,
        `${own.claims
          .list()
          .map(({ metadata }) => metadata.name)
          .join(", ")}: the volumes are being deleted`,
      );
  }
  for (const key of own.secrets.entries().keys()) await own.secrets.delete(key);
  // The garbage collector takes along what was adopted. What an orphaned cluster of this name left may not be adopted yet.
  await own.clients.delete();
  await own.budget.delete();
  await own.peers.delete();
  return done();
}

/** What keeps the cluster from serving, with what a person can do where it never will. */
function obstacleOf(outcome: Exclude<Outcome, { outcome: "done" }>, backup: Outcome | undefined): string {
  const isHopeless = outcome.outcome === "failed" && outcome.reason === reasons.allDataLost;
  if (!isHopeless || !backup) return outcome.message;
  return `${outcome.message}, and remove spec.deletion.finalBackup to let this one go without a backup`;
}

/** Its deletion has not started. */
function isActive({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp === undefined;
}

/**
 * A claim that someone deleted goes with its pod. Where volumes are kept, the data would be lost with the members: such
 * members are replaced before everyone stops, as long as they run. Undefined when there are none.
 */
async function replacement(cluster: EtcdClusterObject, ctx: EtcdContext): Promise<Outcome | undefined> {
  const doomed: string[] = [];
  for (const key of ctx.own.pods.entries().keys()) if (await isDoomed(cluster, ctx, key)) doomed.push(key);
  return doomed.length === 0 ? undefined : waiting(reason, doomedWords(ctx, doomed));
}

/** Past every cache: nothing brings the data back. */
async function isDoomed({ spec }: EtcdClusterObject, { own }: EtcdContext, key: string): Promise<boolean> {
  const pod = own.pods.get(key);
  if (spec.deletion.volumes === "Remove" || !pod || !isActive(pod)) return false;
  const claim = await own.claims.live(key);
  return claim !== undefined && !isActive(claim);
}

function doomedWords({ own }: EtcdContext, keys: readonly string[]): string {
  const names = keys.map((key) => own.claims.get(key)?.metadata.name ?? key).join(", ");
  return (
    `${names}: the claim is being deleted and goes with its pod, so the member is replaced before all stop; ` +
    "set spec.deletion.volumes to Remove to let the data go"
  );
}

/** A status may be wiped: the claims know of data as well. */
function hasData({ status }: EtcdClusterObject, { own }: EtcdContext): boolean {
  const isSigned = ({ metadata }: { readonly metadata: ObjectMeta }) =>
    metadata.annotations?.[annotations.clusterId] !== undefined;
  return status?.clusterId !== undefined || own.claims.list().some(isSigned);
}

/** Undefined when there is none to take, or it is done. */
async function finalBackup(cluster: EtcdClusterObject, ctx: EtcdContext): Promise<Outcome | undefined> {
  const { metadata, spec } = cluster;
  const store = spec.deletion.finalBackup;
  if (!store || !hasData(cluster, ctx)) return undefined;
  // Another store is another attempt; the same store is the same backup in every pass.
  const key = `${metadata.uid.slice(0, 8)}-${hash("sha256", JSON.stringify(store)).slice(0, 6)}`;
  const backup = ctx.own.finalBackups.get(key);
  if (!backup) {
    if (!(await createFinalBackup(cluster, ctx, key))) return undefined;
    return waiting(reason, "a final backup is taken before anything is removed");
  }
  const { name } = backup.metadata;
  switch (backup.status?.phase) {
    case "Done":
      return undefined;
    case "Failed":
      return fail(
        reasons.finalBackupFailed,
        `nothing is removed, because the final backup ${name} failed: ${backup.status.failure?.message}; ` +
          "delete that EtcdBackup to try again, or change or remove spec.deletion.finalBackup",
      );
    default: {
      const message = backup.status?.conditions?.find(({ type }) => type === "Ready")?.message;
      const state = message === undefined ? "" : `: ${message}`;
      return waiting(reason, `nothing is removed before the final backup ${name} is done${state}`);
    }
  }
}

/** False when nothing can be created any more: the whole namespace is being deleted, perhaps with the store. */
async function createFinalBackup(
  cluster: EtcdClusterObject,
  ctx: EtcdContext,
  key: string,
): Promise<boolean> {
  const { metadata, spec } = cluster;
  const store = spec.deletion.finalBackup;
  if (!store) return false;
  const name = `${metadata.name}-final-${key}`;
  try {
    await ctx.own.finalBackups.apply(key, {
      metadata: { name },
      spec: { cluster: metadata.name, store, verify: true },
    });
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== 403 || !message.includes("is being terminated")) throw error;
    ctx.event("Warning", reasons.finalBackupFailed, "the namespace is being deleted: no backup can be taken");
    return false;
  }
  ctx.event("Normal", "FinalBackup", `${name} is taken before anything is removed`);
  return true;
}
