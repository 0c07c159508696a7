/** Whether what a pass decided is still asked for when it is about to be done. */
import { objectionTo } from "@keelson/kit";
import { Database, type DatabaseObject } from "../api/database.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";

/**
 * What speaks against it, as a sentence. Agents that do not answer hold up a pass for seconds, and a cache may be late, so
 * the Database is asked for past every cache. What agents are told and which volumes go cannot be taken back: another spec
 * than that which was decided by speaks against it as well.
 */
export async function objectionNow(
  object: DatabaseObject,
  ctx: DatabaseContext,
): Promise<string | undefined> {
  const live = await ctx.client.kind(Database).find(databaseName(object));
  const isSame = live?.metadata.generation === object.metadata.generation;
  return objectionTo(object, live) ?? (isSame ? undefined : "the spec has changed meanwhile");
}
