/** The end of a Database: its instances stop cleanly, then its volumes go or stay as the spec says. */
import { done, fail, type Outcome, waiting } from "keelson";
import { Lease } from "keelson/kinds";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";

export async function finalize(object: DatabaseObject, ctx: DatabaseContext): Promise<Outcome> {
  const pending = await lastBackup(object, ctx);
  if (pending) return pending;
  for (const [key, pod] of ctx.own.pods.entries()) {
    if (pod.metadata.deletionTimestamp === undefined) await ctx.own.pods.delete(key);
  }
  const left = ctx.own.pods.list().map(({ metadata }) => metadata.name);
  if (left.length > 0) return waiting(reasons.deleting, `${left.join(", ")} stop`, { recheckMs: 1_000 });
  const removes = object.spec.onDelete !== "Retain";
  if (removes) {
    for (const key of ctx.own.claims.entries().keys()) await ctx.own.claims.delete(key);
    for (const key of ctx.own.secrets.entries().keys()) await ctx.own.secrets.delete(key);
  }
  await ctx.own.binding.delete();
  await ctx.own.role.delete();
  await ctx.own.account.delete();
  // Without its data the record means nothing; with it, it says who holds all commits.
  if (removes) await ctx.client.kind(Lease).delete(databaseName(object)).catch(ignoreAbsent);
  return done();
}

/** Nothing is removed before a backup of everything is done and proven. */
async function lastBackup(object: DatabaseObject, ctx: DatabaseContext): Promise<Outcome | undefined> {
  const { spec, metadata, status } = object;
  if (spec.onDelete !== "Snapshot" || status?.systemId === undefined) return undefined;
  const key = `final-${metadata.uid.slice(0, 8)}`;
  const backup = ctx.own.backups.get(key);
  if (!backup) {
    if (!spec.backup) {
      return fail(
        reasons.finalBackupFailed,
        "onDelete is Snapshot, but there is no spec.backup; add one, or set onDelete to Retain or Delete",
      );
    }
    await ctx.own.backups.apply(key, {
      metadata: { name: `${metadata.name}-${key}` },
      spec: { database: metadata.name },
    });
    return waiting(reasons.deleting, "a last backup is taken before anything is removed", {
      recheckMs: 2_000,
    });
  }
  const { name } = backup.metadata;
  switch (backup.status?.phase) {
    case "Done":
      return undefined;
    case "Failed":
      return fail(
        reasons.finalBackupFailed,
        `nothing is removed, because ${name} failed: ${backup.status.message}; delete it to try again, or set onDelete to Retain or Delete`,
      );
    default:
      return waiting(reasons.deleting, `nothing is removed before ${name} is done`, { recheckMs: 2_000 });
  }
}

function ignoreAbsent(error: unknown): void {
  if ((error as { code?: unknown }).code !== 404) throw error;
}
