/** The end of a database. */
import { done, type Outcome, waiting } from "keelson";
import { reasons } from "../api/conditions.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { SampleDBContext } from "../declaration.ts";

export async function finalize(_db: SampleDBObject, ctx: SampleDBContext): Promise<Outcome> {
  const { own } = ctx;
  await own.set.delete();
  if (ctx.read.pods.length > 0) return waiting(reasons.deleting, "the servers are stopping");
  for (const key of own.claims.entries().keys()) await own.claims.delete(key);
  if (own.claims.list().length > 0) return waiting(reasons.deleting, "the volumes are being deleted");
  for (const slot of [own.config, own.credentials, own.internal, own.acl, own.servers]) await slot.delete();
  return done();
}
