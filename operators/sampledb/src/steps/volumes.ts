/**
 * Volumes survive whatever happens to their claims: from the moment they are bound their reclaim policy is Retain. Only
 * when data was saved elsewhere, or nobody wants it, do they get back the policy that they had.
 */
import { isNotFound } from "keelson";
import { Event, PersistentVolume } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames } from "../resources/names.ts";

export async function protectVolumes(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<void> {
  const wanted: "kept" | "released" = db.spec.onDelete === "Delete" ? "released" : "kept";
  const claims = [...ctx.own.claims.list().map((claim) => ({ claim, wanted })), ...backups(ctx)];
  for (const { claim, wanted: how } of claims) {
    const volume = claim.spec?.volumeName;
    if (!volume || claim.status?.phase !== "Bound" || memory.volumes.get(volume) === how) continue;
    if (how === "kept") await keepVolume(db, ctx, volume);
    else await releaseVolume(ctx, volume);
    memory.volumes.set(volume, how);
  }
}

function backups(ctx: SampleDBContext) {
  const claim = ctx.own.backupsClaim.get();
  return claim ? [{ claim, wanted: "kept" as const }] : [];
}

async function keepVolume(db: SampleDBObject, ctx: SampleDBContext, name: string): Promise<void> {
  const { namespace, name: database } = databaseName(db);
  const volume = await ctx.client.kind(PersistentVolume).get({ name });
  const before = volume.spec?.persistentVolumeReclaimPolicy ?? "Delete";
  if (before === "Retain" && volume.metadata.annotations?.[annotations.dataOf] !== undefined) return;
  const body = {
    metadata: {
      uid: volume.metadata.uid,
      annotations: { [annotations.reclaimPolicy]: before, [annotations.dataOf]: `${namespace}/${database}` },
    },
    spec: { persistentVolumeReclaimPolicy: "Retain" },
  };
  await ctx.client.kind(PersistentVolume).patch({ name }, { type: "merge", body: body as never });
}

/** Gives a volume back the policy that it had before. */
export async function releaseVolume(ctx: SampleDBContext, name: string): Promise<void> {
  try {
    const volume = await ctx.client.kind(PersistentVolume).get({ name });
    const before = volume.metadata.annotations?.[annotations.reclaimPolicy];
    if (before === undefined) return;
    const body = {
      metadata: {
        uid: volume.metadata.uid,
        annotations: { [annotations.reclaimPolicy]: null, [annotations.dataOf]: null },
      },
      spec: { persistentVolumeReclaimPolicy: before },
    };
    await ctx.client.kind(PersistentVolume).patch({ name }, { type: "merge", body: body as never });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/**
 * The volumes that hold the data of a database, by name. In a namespace that goes the claims may be gone already, and
 * with them all that the status knew; what is written on the volumes stays.
 */
export async function volumesOf(db: SampleDBObject, ctx: SampleDBContext): Promise<string[]> {
  const { namespace, name } = databaseName(db);
  const claimed = ctx.own.claims.list().flatMap(({ spec }) => spec?.volumeName ?? []);
  const { items } = await ctx.client.kind(PersistentVolume).list();
  const backups = objectNames({ name }).backups;
  const marked = items.filter(
    ({ metadata, spec }) =>
      metadata.annotations?.[annotations.dataOf] === `${namespace}/${name}` &&
      spec?.claimRef?.name !== backups,
  );
  return [...new Set([...claimed, ...marked.map(({ metadata }) => metadata.name)])].sort();
}

/** Told on the volume itself, in a namespace that stays: that of the database may be going. */
export async function tellKept(
  db: SampleDBObject,
  ctx: SampleDBContext,
  volumes: readonly string[],
  why: string,
): Promise<void> {
  const { namespace, name, uid } = databaseName(db);
  const at = new Date(ctx.clock.now()).toISOString().replace(/\.\d{3}Z$/, "Z");
  for (const volume of volumes) {
    const event = `${volume}.${uid.slice(0, 8)}.kept`;
    const message = `the data of SampleDB ${namespace}/${name} is kept on this volume: ${why}`;
    try {
      await ctx.client.kind(Event).create({
        metadata: { namespace: "default", name: event },
        involvedObject: { apiVersion: "v1", kind: "PersistentVolume", name: volume, namespace: "default" },
        type: "Warning",
        reason: "VolumeKept",
        message,
        source: { component: "sampledb-operator" },
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
      } as never);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 409) throw error;
    }
  }
}
