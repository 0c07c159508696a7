/** One look at everything, and what follows for the instances: who they are, what they run, what they are told. */
import { fail, type Outcome, waiting } from "keelson";
import type { AgentCall } from "../agent/wire.ts";
import type { DatabaseBackupObject } from "../api/backup.ts";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import { planMembers } from "../decide/members.ts";
import {
  conditionsOf,
  isWhole,
  mustRemount,
  primaryOf,
  type Readiness,
  readinessOf,
} from "../decide/report.ts";
import { planRestore, type RestorePlan, type RestoreView } from "../decide/restore-in-place.ts";
import type { UpgradePlan } from "../decide/upgrade.ts";
import type { Quorum } from "../ha/quorum.ts";
import { dataUidOf, type LeaseRecord } from "../ha/state.ts";
import { type AgentAccess, observe, readRecord } from "../observe/observe.ts";
import type { InstanceView, Observed } from "../observe/observed.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { policyFor } from "../resources/lease.ts";
import { type DatabaseName, databaseName, instanceKey, instanceName } from "../resources/names.ts";
import { hasStore } from "../resources/pod.ts";
import { isStoredIn, restoreSource, type StorePlace, storeOf } from "../resources/store.ts";
import { keepCertificates } from "./certificates.ts";
import { keepInstances } from "./instances.ts";
import { applyNames, applyObjects, applyPolicy, isSamePolicy } from "./objects.ts";
import { keepAgentSecret } from "./secrets.ts";
import { objectionNow } from "./still-asked.ts";
import { actOnUpgrade, replaceMajors, upgradePlan, versionsOf } from "./upgrade.ts";

export interface Pass {
  readonly observed: Observed;
  readonly record: LeaseRecord | undefined;
  readonly primary: InstanceView | undefined;
  readonly access: AgentAccess | undefined;
  readonly plan: UpgradePlan;
  readonly restoring: RestorePlan;
  readonly readiness: Readiness;
  readonly reports: ReturnType<typeof conditionsOf>;
  /** Nothing is done, because the spec is paused or not what was decided by any more. */
  readonly held: boolean;
  /** Whom clients trust. */
  readonly authority: string;
}

export interface RunOptions {
  readonly agentImage: string;
  readonly call: AgentCall;
  /** The Database is being deleted: clients are kept out, and nothing is begun. */
  readonly closing?: boolean;
}

const patienceMs = 3_000;
/** A pass that took longer has waited for an agent. */
const promptMs = 500;

/** What stands in the way instead of the pass, when something does. */
export async function runInstances(
  object: DatabaseObject,
  ctx: DatabaseContext,
  { agentImage, call, closing = false }: RunOptions,
): Promise<Pass | { readonly obstacle: Outcome }> {
  const database = databaseName(object);
  const begunMs = ctx.clock.monotonic();
  const record = await readRecord(object, ctx);
  const isOld = record?.published.systemId !== undefined && record.policy.databaseUid !== database.uid;
  if (object.spec.restoreFrom && isOld) {
    const advice = "delete its claims and its Lease, or remove restoreFrom";
    const message = `the volumes of an earlier Database of this name hold data, so nothing is restored; ${advice}`;
    return { obstacle: fail(reasons.dataExists, message) };
  }
  const restore =
    record?.published.systemId === undefined ? restoreSource(object, ctx.read.restoreFrom) : undefined;
  if (typeof restore === "string") return { obstacle: waiting(reasons.backupPending, restore) };
  const key = await keepAgentSecret(object, ctx);
  const access = key && { key, call };
  const { existing, names } = namesOf(object, ctx, record);
  const observed = await observe(object, ctx, { names, record, access });
  const primary = primaryOf(observed);
  const trust = await keepCertificates(object, ctx, observed);
  if ("missing" in trust) {
    return { obstacle: waiting(reasons.secretMissing, trust.missing, { recheckMs: patienceMs }) };
  }
  const promised = promisedIn(record?.published.quorums);
  const { before, returnedTo } = record?.published ?? {};
  const members = planMembers({
    database: database.name,
    wanted: object.spec.instances,
    // After a return those count that did before.
    counted: [...(record?.policy.instances ?? []), ...(returnedTo === undefined ? [] : promised)],
    existing,
    primary: record?.holder || undefined,
    streaming: primary?.report?.standbys.map(({ name }) => name) ?? [],
    // While nobody serves, those stay that may have the data of before it was replaced.
    promised: [...promised, ...(primary ? [] : promisedIn(before?.quorums))],
    initialised: record?.published.systemId !== undefined,
  });
  const readiness = readinessOf(observed);
  const reports = conditionsOf(observed);
  const plan = upgradePlan(observed, ctx, {
    whole: readiness.ready && isWhole(object, reports) && !closing,
    primary: primary?.name,
  });
  const place = storeOf(object, dataUidOf(record, object));
  const restoring = planRestore({
    wish: closing ? undefined : object.spec.restoreInPlace,
    record,
    whole: readiness.ready && isWhole(object, reports) && plan.report?.phase !== "Upgrading",
    primary: primary?.name,
    hasStore: primary !== undefined && storesIn(ctx, database, { name: primary.name, place }),
    version: plan.version,
    ...reachable(
      place,
      [...ctx.own.backups.list(), ...(ctx.read.inPlaceBackup ? [ctx.read.inPlaceBackup] : [])].filter(
        ({ spec }) => spec.database === database.name,
      ),
    ),
    before: object.status?.restore,
  });
  const replacing = plan.upgrade ?? restoring.upgrade;
  // After that the others begin again: commits wait for each of them when it streams.
  const { upgrade: asked } = record?.policy ?? {};
  const { upgrade: outcome } = record?.published ?? {};
  const isFirstPass = asked !== undefined && asked.id === outcome?.id && outcome.outcome === "Done";
  const count = isFirstPass && record?.holder ? [record.holder] : members.count;
  const policy = policyFor(object, count, record, existing, {
    ...versionsOf(plan, record),
    ...(replacing && { upgrade: replacing }),
    ...(closing && { closed: true }),
  });
  const isOrder = !isSamePolicy(policy, record?.policy) || members.remove.length > 0;
  const mustAsk = isOrder || ctx.clock.monotonic() - begunMs >= promptMs;
  const objection = mustAsk ? await objectionNow(object, ctx) : undefined;
  if (objection !== undefined) ctx.log.info("nothing is done in this pass", { objection });
  else await applyPolicy(object, ctx, policy, record?.policy);
  const held = objection !== undefined || (object.spec.paused && record !== undefined && !closing);
  if (!held) {
    await applyNames(object, ctx);
    if (!closing) await applyObjects(object, ctx, [...new Set([...members.keep, ...names])]);
    await keepInstances(object, ctx, { members, existing, record, agentImage, restore, plan, closing });
    if (!closing) await actOnUpgrade(observed, ctx, { plan, agentImage, primary: primary?.name });
    if (record) await replaceMajors(observed, ctx, { plan, record });
    for (const { name } of observed.instances.filter(mustRemount)) {
      await ctx.own.pods.delete(instanceKey(database, name));
      ctx.event("Normal", "InstanceReplaced", `${name}: its volume has grown and is mounted again`);
    }
  }
  const authority = trust.bundle;
  return { observed, record, primary, access, plan, restoring, readiness, reports, held, authority };
}

function promisedIn(quorums: readonly Quorum[] = []): string[] {
  return quorums.flatMap(({ members }) => [...members]);
}

/** Whether what an instance stores lies there: its pod may be made from an older spec. */
export function storesIn(
  ctx: DatabaseContext,
  database: DatabaseName,
  { name, place }: { readonly name: string; readonly place: StorePlace | undefined },
): boolean {
  const pod = ctx.own.pods.get(instanceKey(database, name));
  return pod !== undefined && place !== undefined && hasStore(pod, place);
}

/** Instances reach those that lie where they put their own. */
function reachable(
  place: StorePlace | undefined,
  all: readonly DatabaseBackupObject[],
): Pick<RestoreView, "backups" | "elsewhere"> {
  const { here = [], elsewhere = [] } = Object.groupBy(all, (each) =>
    isStoredIn(place, each) ? "here" : "elsewhere",
  );
  return { backups: here, elsewhere: elsewhere.map(({ metadata }) => metadata.name) };
}

function namesOf(
  object: DatabaseObject,
  ctx: DatabaseContext,
  record: LeaseRecord | undefined,
): { existing: string[]; names: string[] } {
  const database = databaseName(object);
  const existing = [...new Set([...ctx.own.claims.entries().keys(), ...ctx.own.pods.entries().keys()])]
    .filter((slot) => /^[0-9]+$/.test(slot))
    .map((slot) => instanceName(database, Number(slot)));
  const names = [...new Set([...(record?.policy.instances ?? []), ...existing])].sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  );
  return { existing, names };
}
