/** The end of a Database: a last backup that is proven, then the instances, and their volumes as the spec says. */
import { wereReleased } from "@keelson/kit";
import { done, type Outcome, waiting } from "keelson";
import { Lease, Namespace, Service } from "keelson/kinds";
import type { AgentCall } from "../agent/wire.ts";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import { statusOf } from "../decide/report.ts";
import { dataUidOf } from "../ha/state.ts";
import { readRecord } from "../observe/observe.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { leaseRef } from "../resources/lease.ts";
import { databaseName, instanceKey } from "../resources/names.ts";
import { serviceKeys } from "../resources/services.ts";
import { storeOf } from "../resources/store.ts";
import { runInstances, storesIn } from "./run.ts";
import { releaseVolume, tellKept } from "./volumes.ts";

export interface FinalOptions {
  readonly agentImage: string | undefined;
  readonly call: AgentCall;
}

export async function finalize(
  object: DatabaseObject,
  ctx: DatabaseContext,
  options: FinalOptions,
): Promise<Outcome> {
  if (ctx.orphaned ?? (await isOrphaned(object, ctx))) {
    ctx.event("Normal", "Orphaned", "everything is left as it is; a Database of the same name takes it over");
    return done();
  }
  const { onDelete } = object.spec;
  let keep = onDelete === "Retain" ? "spec.onDelete is Retain" : undefined;
  if (onDelete === "Snapshot") {
    const last = await lastBackup(object, ctx, options);
    if (last !== "taken" && !("impossible" in last)) return last;
    if (last !== "taken") keep = `no backup could be taken: ${last.impossible}`;
  }
  // Told before anything stops: in a namespace that goes, the claims go with the pods.
  if (keep !== undefined) await tellVolumes(object, ctx, keep);
  return await removeAll(object, ctx, keep === undefined);
}

async function removeAll(object: DatabaseObject, ctx: DatabaseContext, withData: boolean): Promise<Outcome> {
  await ctx.own.pooler.delete();
  for (const [key, pod] of ctx.own.pods.entries()) {
    if (pod.metadata.deletionTimestamp === undefined) await ctx.own.pods.delete(key);
  }
  const left = namesOf(ctx.own.pods);
  if (left !== "") return waiting(reasons.deleting, `${left} stop`, { recheckMs: 1_000 });
  await ctx.own.names.delete();
  if (withData) {
    for (const [key, claim] of ctx.own.claims.entries()) {
      if (claim.spec?.volumeName) await releaseVolume(ctx, claim.spec.volumeName);
      await ctx.own.claims.delete(key);
    }
    if (ctx.own.claims.list().length > 0)
      return waiting(reasons.deleting, `the claims ${namesOf(ctx.own.claims)} go`, { recheckMs: 1_000 });
    for (const key of ctx.own.secrets.entries().keys()) await ctx.own.secrets.delete(key);
  }
  // The garbage collector takes along what was adopted. What an orphaned Database of this name left may not be adopted yet.
  for (const key of serviceKeys) await ctx.own.services.delete(key);
  await ctx.own.budget.delete();
  await ctx.own.binding.delete();
  await ctx.own.role.delete();
  await ctx.own.account.delete();
  // Without its data the record means nothing; with it, it says who holds all commits.
  if (withData) await ctx.client.kind(Lease).delete(leaseRef(object)).catch(ignoreAbsent);
  return done();
}

function namesOf(owned: { list(): readonly { readonly metadata: { readonly name: string } }[] }): string {
  return owned
    .list()
    .map(({ metadata }) => metadata.name)
    .join(", ");
}

async function tellVolumes(object: DatabaseObject, ctx: DatabaseContext, why: string): Promise<void> {
  const claimed = ctx.own.claims.list().flatMap(({ spec }) => spec?.volumeName ?? []);
  // In a namespace that goes, the claims may be gone already.
  const volumes = [...new Set([...(object.status?.volumes ?? []), ...claimed])];
  await tellKept(object, ctx, { volumes, why });
  const type = object.spec.onDelete === "Retain" ? "Normal" : "Warning";
  if (volumes.length > 0)
    ctx.event(type, reasons.volumesKept, `the volumes ${volumes.join(", ")} are kept: ${why}`);
}

/**
 * Deleted with its dependents to be left alone (`--cascade=orphan`): the garbage collector has taken our references off
 * them, or is about to.
 */
async function isOrphaned(object: DatabaseObject, ctx: DatabaseContext): Promise<boolean> {
  const { name, namespace } = databaseName(object);
  const found = await Promise.all(
    [name, `${name}-ro`, `${name}-r`].map(
      async (each) => await ctx.client.kind(Service).find({ namespace, name: each }),
    ),
  );
  return wereReleased(object, found);
}

type Last = "taken" | { readonly impossible: string } | Outcome;

/**
 * Nothing is removed before a backup of everything is done and proven. Pods that are lost meanwhile are made again without
 * a reference to the Database: a deletion in the foreground would take them away.
 */
async function lastBackup(
  object: DatabaseObject,
  ctx: DatabaseContext,
  { agentImage, call }: FinalOptions,
): Promise<Last> {
  const { spec, metadata, status } = object;
  if (!(await hasData(object, ctx))) return "taken";
  const key = `final-${metadata.uid.slice(0, 8)}`;
  const backup = ctx.own.backups.get(key);
  if (backup?.status?.phase === "Done") return "taken";
  if (!spec.backup) return { impossible: "there is no spec.backup" };
  if (agentImage === undefined) return { impossible: "the operator does not know its own image" };
  if (await isNamespaceGoing(object, ctx)) return { impossible: "the namespace is being deleted" };
  if (backup?.status?.phase === "Failed") return { impossible: backup.status.message ?? "it failed" };
  const sinceMs = ctx.clock.now() - Date.parse(metadata.deletionTimestamp ?? "");
  if (sinceMs > spec.backup.finalDeadlineSeconds * 1_000) {
    const why = backup?.status?.message ?? "no primary serves";
    return { impossible: `${why}, and ${spec.backup.finalDeadlineSeconds} seconds are over` };
  }
  try {
    const pass = await runInstances({ ...object, spec: { ...spec, hibernate: false } }, ctx, {
      agentImage,
      call,
      closing: true,
    });
    if ("obstacle" in pass) return pass.obstacle;
    ctx.setStatus({ ...statusOf(pass.observed, pass.readiness, status), phase: "Deleting" });
    const { primary, readiness } = pass;
    const place = storeOf(object, dataUidOf(pass.record, object));
    // One that was made before there was a store has nowhere to put it. Only one is away at a time.
    if (primary && readiness.ready && !storesIn(ctx, databaseName(object), { name: primary.name, place })) {
      await ctx.own.pods.delete(instanceKey(databaseName(object), primary.name));
      const message = `${primary.name} is replaced: its pod does not have the store of spec.backup`;
      return waiting(reasons.deleting, message, { recheckMs: 1_000 });
    }
    if (!backup && primary?.report?.closed === true) {
      await ctx.own.backups.apply(key, {
        metadata: { name: `${metadata.name}-${key}` },
        spec: { database: metadata.name, source: "primary" },
      });
    }
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code === 403 && message.includes("being terminated"))
      return { impossible: "the namespace is being deleted" };
    throw error;
  }
  const { message = "no primary serves, or clients are still being kept out" } = backup?.status ?? {};
  const doing = `a last backup is taken before anything is removed, within spec.backup.finalDeadlineSeconds`;
  return waiting(reasons.deleting, `${doing}: ${message}`, { recheckMs: 1_000 });
}

/** A status may be wiped and a Lease be lost: where any of the three knows of data, there is some. */
async function hasData(object: DatabaseObject, ctx: DatabaseContext): Promise<boolean> {
  if (object.status?.systemId !== undefined) return true;
  if (
    ctx.own.claims.list().some(({ metadata }) => metadata.annotations?.[annotations.systemId] !== undefined)
  )
    return true;
  return (await readRecord(object, ctx))?.published.systemId !== undefined;
}

async function isNamespaceGoing(object: DatabaseObject, ctx: DatabaseContext): Promise<boolean> {
  const { namespace } = databaseName(object);
  const found = await ctx.client.kind(Namespace).find({ name: namespace });
  return found?.metadata.deletionTimestamp !== undefined;
}

function ignoreAbsent(error: unknown): void {
  if ((error as { code?: unknown }).code !== 404) throw error;
}
