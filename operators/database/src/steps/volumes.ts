/** Volumes survive whatever happens to their claims, until data was saved elsewhere or nobody wants it. */
import { type DataOwner, KeptVolumes } from "@keelson/kit";
import { Event, PersistentVolume } from "keelson/kinds";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";

const kept = new KeptVolumes(annotations, { component: "database-operator" });
/** What this process has done already, by volume. Losing it costs a request. */
const known = new Map<string, "kept" | "released">();

function ownerOf(object: DatabaseObject): DataOwner {
  return { kind: "Database", ...databaseName(object) };
}

export async function protectVolumes(object: DatabaseObject, ctx: DatabaseContext): Promise<void> {
  const wanted = object.spec.onDelete === "Delete" ? "released" : "kept";
  for (const [slot, claim] of ctx.own.claims.entries()) {
    const volume = claim.spec?.volumeName;
    // It was decided when its claim was deleted what becomes of it.
    if (claim.metadata.deletionTimestamp !== undefined) continue;
    if (!volume || !/^[0-9]+$/.test(slot) || claim.status?.phase !== "Bound" || known.get(volume) === wanted)
      continue;
    if (wanted === "kept") await kept.keep(ctx.client.kind(PersistentVolume), volume, ownerOf(object));
    else await kept.release(ctx.client.kind(PersistentVolume), volume);
    known.set(volume, wanted);
  }
}

/** Gives a volume back the policy that it had before. */
export async function releaseVolume(ctx: DatabaseContext, volume: string): Promise<void> {
  await kept.release(ctx.client.kind(PersistentVolume), volume);
  known.delete(volume);
}

export async function tellKept(
  object: DatabaseObject,
  ctx: DatabaseContext,
  { volumes, why }: { readonly volumes: readonly string[]; readonly why: string },
): Promise<void> {
  const owner = ownerOf(object);
  for (const volume of volumes)
    await kept.tell(ctx.client.kind(Event), volume, { owner, why, nowMs: ctx.clock.now() });
}
