/** Volumes survive whatever happens to their claims, until data was saved elsewhere or nobody wants it. */
import { type DataOwner, KeptVolumes } from "@keelson/kit";
import { Event, PersistentVolume } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames } from "../resources/names.ts";

const kept = new KeptVolumes(annotations, { component: "sampledb-operator" });

function ownerOf(db: SampleDBObject): DataOwner {
  return { kind: "SampleDB", ...databaseName(db) };
}

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
    if (how === "kept") await kept.keep(ctx.client.kind(PersistentVolume), volume, ownerOf(db));
    else await releaseVolume(ctx, volume);
    memory.volumes.set(volume, how);
  }
}

function backups(ctx: SampleDBContext) {
  const claim = ctx.own.backupsClaim.get();
  return claim ? [{ claim, wanted: "kept" as const }] : [];
}

/** Gives a volume back the policy that it had before. */
export async function releaseVolume(ctx: SampleDBContext, name: string): Promise<void> {
  await kept.release(ctx.client.kind(PersistentVolume), name);
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

export async function tellKept(
  db: SampleDBObject,
  ctx: SampleDBContext,
  volumes: readonly string[],
  why: string,
): Promise<void> {
  for (const volume of volumes)
    await kept.tell(ctx.client.kind(Event), volume, { owner: ownerOf(db), why, nowMs: ctx.clock.now() });
}
