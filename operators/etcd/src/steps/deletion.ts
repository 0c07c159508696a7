/** The end of a cluster: its volumes stay or go as the spec says. Pods and services go with their owner. */
import { done, type Outcome, waiting } from "keelson";
import type { EtcdClusterObject } from "../api/cluster.ts";
import { reasons } from "../api/conditions.ts";
import type { EtcdContext } from "../declaration.ts";

const reason = reasons.deleting;

export async function finalize(cluster: EtcdClusterObject, ctx: EtcdContext): Promise<Outcome> {
  for (const key of ctx.own.pods.entries().keys()) await ctx.own.pods.delete(key);
  if (ctx.own.pods.list().length > 0) return waiting(reason, "the members are stopping");
  if (cluster.spec.deletion.volumes === "Keep") return done();
  for (const key of ctx.own.claims.entries().keys()) await ctx.own.claims.delete(key);
  if (ctx.own.claims.list().length > 0) return waiting(reason, "the volumes are being deleted");
  return done();
}
