/** What every Database has from the first moment, whatever its instances do. */
import { Lease } from "keelson/kinds";
import type { DatabaseObject } from "../api/database.ts";
import type { Policy } from "../ha/state.ts";
import { accountFor, bindingFor, roleFor } from "../resources/access.ts";
import { budgetFor } from "../resources/budget.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { leaseFor } from "../resources/lease.ts";
import { databaseName } from "../resources/names.ts";
import { anyService, namesService, readOnlyService, readWriteService } from "../resources/services.ts";

export async function applyObjects(
  object: DatabaseObject,
  ctx: DatabaseContext,
  instances: readonly string[],
): Promise<void> {
  const database = databaseName(object);
  await ctx.own.services.apply("rw", readWriteService(database));
  await ctx.own.services.apply("ro", readOnlyService(database));
  await ctx.own.services.apply("r", anyService(database));
  await ctx.own.budget.apply(budgetFor(database, object.spec.instances));
  await ctx.own.account.apply(accountFor(database));
  await ctx.own.role.apply(roleFor(database, instances));
  await ctx.own.binding.apply(bindingFor(database));
}

/** Without it no instance finds another, and nobody is elected: it stays until the pods are gone. */
export async function applyNames(object: DatabaseObject, ctx: DatabaseContext): Promise<void> {
  await ctx.own.names.apply(namesService(databaseName(object)));
}

export function isSamePolicy(policy: Policy, before: Policy | undefined): boolean {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(policy);
}

/** Only when it changes: each write makes the holder of the Lease read it again. */
export async function applyPolicy(
  object: DatabaseObject,
  ctx: DatabaseContext,
  policy: Policy,
  before: Policy | undefined,
): Promise<void> {
  if (isSamePolicy(policy, before)) return;
  await ctx.client.kind(Lease).apply(leaseFor(object, policy), { force: true });
}
