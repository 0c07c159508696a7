/** What every cluster has from the start: a service for peers, a service for clients, a disruption budget. */
import type { EtcdClusterObject } from "../api/cluster.ts";
import { voterCount } from "../decide/facts.ts";
import type { Observed } from "../observe/observed.ts";
import { budgetFor } from "../resources/budget.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { clusterName } from "../resources/names.ts";
import { clientService, formedClusterId, peerService } from "../resources/services.ts";

export async function applyServices(cluster: EtcdClusterObject, ctx: EtcdContext): Promise<void> {
  const name = clusterName(cluster);
  const peers = peerService(name, cluster.status?.clusterId ?? formedClusterId(name, ctx.own.peers.get()));
  // A cluster that is deleted in the foreground loses the service of its clients at once; its members still meet.
  if (cluster.metadata.deletionTimestamp !== undefined) return void (await ctx.own.peers.apply(peers));
  if (!ctx.own.peers.get() || !ctx.own.clients.get())
    ctx.event("Normal", "ServicesMade", `members are found by ${name.name}, clients by ${name.name}-client`);
  await ctx.own.peers.apply(peers);
  await ctx.own.clients.apply(clientService(name));
}

/** Without a list the budget stays as it is: a cluster without quorum must not allow more drains. */
export async function applyBudget(observed: Observed, ctx: EtcdContext): Promise<void> {
  if (!observed.list && ctx.own.budget.get()) return;
  const budget = budgetFor(observed.cluster, { size: observed.spec.size, voters: voterCount(observed) });
  const least = budget.spec?.minAvailable;
  if (ctx.own.budget.get()?.spec?.minAvailable !== least)
    ctx.event("Normal", "BudgetSet", `drains leave at least ${least} members running`);
  await ctx.own.budget.apply(budget);
}
