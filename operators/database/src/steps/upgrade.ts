/** Carries out what `decide/upgrade` says, and sees that every pod has the programs that it should have. */
import type { ObjectOf } from "keelson";
import type { Pod } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import { majorPart, planUpgrade, type UpgradePlan, type UpgradeView, versionTo } from "../decide/upgrade.ts";
import type { LeaseRecord, Policy } from "../ha/state.ts";
import type { Observed } from "../observe/observed.ts";
import { podView } from "../observe/pod-view.ts";
import { installCommand } from "../resources/agent-image.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName, instanceKey } from "../resources/names.ts";
import { rehearsalClaim, rehearsalPod } from "../resources/rehearsal.ts";

const slot = "rehearsal";

export function upgradePlan(
  observed: Observed,
  ctx: DatabaseContext,
  facts: { readonly whole: boolean; readonly primary: string | undefined },
): UpgradePlan {
  const { object, record } = observed;
  const attempt = object.metadata.annotations?.[annotations.retryUpgrade] ?? "";
  return planUpgrade({
    wanted: object.spec.version,
    record,
    attempt,
    ...facts,
    rehearsal: rehearsalOf(ctx.own.pods.get(slot), nameOf(observed, attempt)),
    backup: backupOf(observed, ctx, attempt),
    before: object.status?.upgrade,
    running: object.status?.version,
    dataMajor: dataMajorOf(observed),
    nowMs: ctx.clock.now(),
  });
}

/** Of the data that the record speaks of; while it is lost, of what is there. That of an upgrade on its way is the newer one. */
function dataMajorOf({ record, instances }: Observed): string | undefined {
  const { systemId } = record?.published ?? {};
  const majors = instances.flatMap(({ report }) =>
    report?.systemId && (systemId === undefined || report.systemId === systemId)
      ? (report.dataMajor ?? [])
      : [],
  );
  return majors.sort((a, b) => Number(a) - Number(b))[0];
}

/** The rehearsal of this very upgrade: that of an earlier one says nothing. */
function nameOf({ object, record }: Observed, attempt: string): string {
  const [from, to] = [majorPart(record?.policy.version ?? ""), majorPart(object.spec.version)];
  const suffix = attempt
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(0, 20);
  return [object.metadata.name, "rehearsal", from, to, suffix].filter(Boolean).join("-");
}

function rehearsalOf(pod: ObjectOf<typeof Pod> | undefined, name: string): UpgradeView["rehearsal"] {
  if (pod?.metadata.name !== name) return "absent";
  const { phase, containerStatuses, initContainerStatuses, message } = pod.status ?? {};
  if (phase === "Succeeded") return "succeeded";
  if (phase !== "Failed") return { running: [name, podView(pod).obstacle].filter(Boolean).join(": ") };
  const ended = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].flatMap(
    ({ state }) => state?.terminated ?? [],
  );
  // Of a container that never ran nothing is known.
  const guilty = ended.find(({ exitCode, reason }) => exitCode !== 0 && reason !== "ContainerStatusUnknown");
  return { failed: guilty?.message?.trim() ?? guilty?.reason ?? message ?? "its pod failed" };
}

function backupKey({ object }: Observed, attempt: string): string {
  return `before-${majorPart(object.spec.version)}${attempt === "" ? "" : `-${attempt}`}`
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, "");
}

function backupOf(observed: Observed, ctx: DatabaseContext, attempt: string): UpgradeView["backup"] {
  if (!observed.object.spec.backup) return "unwanted";
  const backup = ctx.own.backups.get(backupKey(observed, attempt));
  if (!backup) return "absent";
  const { phase, message = "" } = backup.status ?? {};
  if (phase === "Done") return "done";
  if (phase === "Failed") return { failed: message };
  return { running: [backup.metadata.name, message].filter(Boolean).join(": ") };
}

export async function actOnUpgrade(
  observed: Observed,
  ctx: DatabaseContext,
  { plan, agentImage, primary }: { plan: UpgradePlan; agentImage: string; primary: string | undefined },
): Promise<void> {
  const { object } = observed;
  const { spec, metadata } = object;
  const attempt = metadata.annotations?.[annotations.retryUpgrade] ?? "";
  const old = ctx.own.pods.get(slot);
  const name = nameOf(observed, attempt);
  const isOver = plan.report === undefined || ["Cloning", "Done", "Upgrading"].includes(plan.report.phase);
  if (old && (isOver || old.metadata.name !== name)) await ctx.own.pods.delete(slot);
  else if (!old && ctx.own.claims.get(slot) && plan.action !== "rehearse") await ctx.own.claims.delete(slot);
  if (plan.action === "rehearse" && primary !== undefined && !old) {
    const [from, to] = [plan.version, spec.version].map((version) => ({
      image: `${spec.image}:${version}`,
      major: majorPart(version),
    }));
    if (!from || !to) return;
    await ctx.own.claims.apply(slot, rehearsalClaim(object, name));
    await ctx.own.pods.apply(
      slot,
      rehearsalPod(object, { name, primary, from, to, agentImage, installCommand }),
    );
    ctx.event(
      "Normal",
      "UpgradeRehearsed",
      `the upgrade to ${to.major} is rehearsed on a clone of ${primary}`,
    );
  }
  if (plan.action === "backup") {
    const key = backupKey(observed, attempt);
    const backup = {
      metadata: { name: `${metadata.name}-${key}-${metadata.uid.slice(0, 5)}` },
      spec: { database: metadata.name },
    };
    await ctx.own.backups.apply(key, backup);
  }
  if (plan.action === "begin") {
    ctx.event("Normal", "UpgradeBegun", `${plan.upgrade?.instance} takes its data to ${plan.upgrade?.to}`);
  }
  if (plan.action === "abort") ctx.event("Warning", "UpgradeAborted", "the instance did not come back");
}

/** What the instances are told. */
export function versionsOf(
  plan: UpgradePlan,
  record: LeaseRecord | undefined,
): Pick<Policy, "version" | "upgrade" | "abortedUpgrade"> {
  const aborted = plan.action === "abort" ? plan.id : record?.policy.abortedUpgrade;
  const isCurrent = aborted !== undefined && aborted === plan.id;
  return {
    version: plan.version,
    ...(plan.upgrade && { upgrade: plan.upgrade }),
    ...(isCurrent && { abortedUpgrade: aborted }),
  };
}

/** What one instance should run: the one that is upgraded is ahead of the others. */
export function versionFor(name: string, plan: UpgradePlan, wanted: string): string {
  const isAhead = plan.upgrade?.instance === name && plan.action === undefined;
  return isAhead ? versionTo(plan.upgrade.to, wanted) : plan.version;
}

/** Pods with the programs of another major version can do nothing: they go at once. The primary stops cleanly before. */
export async function replaceMajors(
  observed: Observed,
  ctx: DatabaseContext,
  { plan, record }: { plan: UpgradePlan; record: LeaseRecord },
): Promise<void> {
  const { object, instances } = observed;
  for (const { name, pod, report } of instances) {
    if (!pod || pod.deleting) continue;
    const wanted = majorPart(versionFor(name, plan, object.spec.version));
    const has = majorPart(pod.image.slice(pod.image.lastIndexOf(":") + 1));
    if (has === wanted) continue;
    const isStopping = plan.upgrade?.instance === name && report?.role === "primary";
    if (isStopping || (record.holder === name && report?.serving)) continue;
    await ctx.own.pods.delete(instanceKey(databaseName(object), name));
    ctx.event("Normal", "InstanceReplaced", `${name}: it gets the programs of ${wanted}`);
  }
}
