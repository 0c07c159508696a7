/** The end of a Database: its instances stop cleanly, then its volumes go or stay as the spec says. */
import { done, type Outcome, waiting } from "keelson";
import { Lease } from "keelson/kinds";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";

export async function finalize(object: DatabaseObject, ctx: DatabaseContext): Promise<Outcome> {
  for (const [key, pod] of ctx.own.pods.entries()) {
    if (pod.metadata.deletionTimestamp === undefined) await ctx.own.pods.delete(key);
  }
  const left = ctx.own.pods.list().map(({ metadata }) => metadata.name);
  if (left.length > 0) return waiting(reasons.deleting, `${left.join(", ")} stop`, { recheckMs: 1_000 });
  if (object.spec.onDelete === "Delete") {
    for (const key of ctx.own.claims.entries().keys()) await ctx.own.claims.delete(key);
    for (const key of ctx.own.secrets.entries().keys()) await ctx.own.secrets.delete(key);
  }
  await ctx.own.binding.delete();
  await ctx.own.role.delete();
  await ctx.own.account.delete();
  await ctx.client.kind(Lease).delete(databaseName(object)).catch(ignoreAbsent);
  return done();
}

function ignoreAbsent(error: unknown): void {
  if ((error as { code?: unknown }).code !== 404) throw error;
}
