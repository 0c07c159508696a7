/** What is told of a Database: phase, members, conditions, and whether it is ready. */
import { conditions, type Reason, reasons } from "../api/conditions.ts";
import type { Status } from "../api/database.ts";
import { labels } from "../api/names.ts";
import { leastFree } from "../engine/room.ts";
import { votesNeeded } from "../ha/quorum.ts";
import { dataUidOf, type LeaseRecord } from "../ha/state.ts";
import type { InstanceView, Observed } from "../observe/observed.ts";
import { majorPart, type UpgradePlan } from "./upgrade.ts";

export interface Readiness {
  readonly ready: boolean;
  readonly reason: Reason;
  readonly message: string;
  readonly phase: string;
}

export function primaryOf({ record, instances }: Observed): InstanceView | undefined {
  return instances.find(
    ({ name, report }) => name === record?.holder && report?.role === "primary" && report.serving,
  );
}

export function readinessOf(observed: Observed): Readiness {
  const { object, record, instances } = observed;
  const { spec } = object;
  const notReady = (reason: Reason, message: string, phase: string = reason): Readiness => ({
    ready: false,
    reason,
    message,
    phase,
  });
  const obstacle = instances.find(({ pod }) => pod?.obstacle !== undefined);
  if (spec.hibernate) {
    const running = instances.filter(({ report }) => report?.role !== undefined && report.role !== "none");
    return running.length > 0
      ? notReady(
          reasons.hibernated,
          `these instances stop: ${running.map(({ name }) => name).join(", ")}`,
          "Hibernating",
        )
      : {
          ready: true,
          reason: reasons.hibernated,
          message: "every instance is stopped; its volume is kept",
          phase: "Hibernated",
        };
  }
  const primary = primaryOf(observed);
  const full = instances.filter((each) => isFull(each) && !isReady(each)).map(({ name }) => name);
  if (full.length > 0)
    return notReady(
      reasons.diskFull,
      `the volume of ${full.join(", ")} is full; raise spec.storage.size`,
      "Degraded",
    );
  if (!primary) return withoutPrimary(observed, obstacle);
  const ready = instances.filter(isReady).length;
  // One that leaves does not stand in for one that stays: commits may wait for that.
  const isCounted = ({ name }: InstanceView) => record?.policy.instances.includes(name) === true;
  const waiting = instances.filter((each) => !isReady(each) && (ready < spec.instances || isCounted(each)));
  if (ready < spec.instances || waiting.length > 0) {
    const why = waiting
      .map(
        ({ name, pod, report }) =>
          `${name}: ${pod?.obstacle ?? waitsForLabel({ pod, report }) ?? report?.reason ?? (pod ? "its agent does not answer" : "it has no pod")}`,
      )
      .join("; ");
    return notReady(
      obstacle ? reasons.podObstacle : reasons.startingReplicas,
      `${ready < spec.instances ? `${ready} of ${spec.instances}` : "not all"} instances are ready; ${why}`,
      record?.published.systemId === undefined ? "Initialising" : "Degraded",
    );
  }
  if (spec.paused)
    return notReady(reasons.paused, "spec.paused is set: nothing is changed and nobody fails over", "Paused");
  return { ready: true, reason: reasons.running, message: `${primary.name} is primary`, phase: "Running" };
}

function withoutPrimary(observed: Observed, obstacle: InstanceView | undefined): Readiness {
  const { record, instances } = observed;
  const notReady = (reason: Reason, message: string, phase: string): Readiness => ({
    ready: false,
    reason,
    message,
    phase,
  });
  // Those who tried to take over know best why nobody can.
  const blocked = instances.find(({ report }) => report?.reason.includes("approval is needed"));
  if (blocked && record) {
    const hint = `to accept that, annotate the Database: database.keelson.dev/approve-failover=${newestEpoch(record, instances)}`;
    return notReady(reasons.failoverBlocked, `${blocked.report?.reason}; ${hint}`, "Blocked");
  }
  if (record?.published.systemId === undefined) {
    return obstacle
      ? notReady(reasons.podObstacle, `${obstacle.name}: ${obstacle.pod?.obstacle}`, "Initialising")
      : notReady(reasons.initialising, initialisingMessage(observed), "Initialising");
  }
  const isLost = instances.length > 0 && instances.every(({ report }) => report?.isEmpty === true);
  if (isLost) {
    const advice =
      "set spec.onDelete to Delete, delete the Database and make it again, with restoreFrom if there is a backup";
    return notReady(reasons.dataMissing, `no instance has the data any more; ${advice}`, "Failed");
  }
  const silent = silentPrimary(observed);
  if (silent !== undefined)
    return notReady(reasons.noPrimary, `${silent}; it may serve all the same`, "FailingOver");
  const holder = record.holder === "" ? "nobody" : record.holder;
  return notReady(
    reasons.noPrimary,
    `${holder} holds the lease, and no primary serves; ${saidBy(instances)}`,
    "FailingOver",
  );
}

/** What each does or waits for. */
function saidBy(instances: readonly InstanceView[]): string {
  return instances
    .map(({ name, report, pod }) => `${name}: ${report?.reason ?? pod?.obstacle ?? "no answer"}`)
    .join("; ");
}

/** What is known of a holder of the lease that the kubelet reaches and the operator does not. */
function silentPrimary({ record, instances }: Observed): string | undefined {
  const holder = instances.find(({ name }) => name === record?.holder);
  return holder?.pod?.ready && !holder.report
    ? `${holder.name} holds the lease and its pod is ready, but its agent does not answer the operator`
    : undefined;
}

/** What is known of one that goes on without the API server, because all agree, while the Lease was lost. */
function unnamedPrimary({ instances }: Observed): string | undefined {
  const found = instances.find(({ report }) => report?.role === "primary" && report.serving);
  return found && `${found.name} serves as primary, and the Lease does not name it`;
}

/** A Lease that was lost says less than the volumes. */
function newestEpoch(record: LeaseRecord, instances: readonly InstanceView[]): number {
  return Math.max(record.epoch, ...instances.map(({ report }) => report?.knownEpoch ?? 0));
}

/** What keeps the first instance from it, if it says so: a restore may wait for the archive, or ask for what is not there. */
function initialisingMessage({ object, instances }: Observed): string {
  const failed = instances.find(({ report }) =>
    /^(initialise failed|the Lease has lost)/.test(report?.reason ?? ""),
  );
  if (failed) return `${failed.name}: ${failed.report?.reason}`;
  const doing =
    object.status?.systemId === undefined
      ? "the first instance makes the database"
      : "the Lease has lost what it knew, and the instances put back what their volumes know";
  return [doing, saidBy(instances)].filter(Boolean).join("; ");
}

export function isReady({ pod, report }: InstanceView): boolean {
  return (
    pod?.ready === true &&
    !pod.deleting &&
    report?.serving === true &&
    (report.role === "primary" ? isFound(pod) : report.receiving)
  );
}

/** Whether the Service for writes leads to it: ready means that a client gets in now. */
function isFound(pod: NonNullable<InstanceView["pod"]>): boolean {
  return pod.labels[labels.role] === "primary";
}

function waitsForLabel({ pod, report }: Pick<InstanceView, "pod" | "report">): string | undefined {
  return pod && report?.role === "primary" && report.serving && !isFound(pod)
    ? `it serves, and the Service does not lead to it yet: its pod has no label ${labels.role}=primary`
    : undefined;
}

export function isFull({ report }: InstanceView): boolean {
  const { sizeBytes = 1, freeBytes = 1 } = report?.volume ?? {};
  return freeBytes < leastFree(sizeBytes);
}

/** The claim has grown, and the file system in the pod has not: it does when the volume is mounted again. */
export function mustRemount(instance: InstanceView): boolean {
  const { claim, report } = instance;
  return isFull(instance) && (report?.volume?.sizeBytes ?? 0) < 0.8 * (claim?.bytes ?? 0);
}

function storageCondition({ instances }: Observed) {
  const full = instances.filter(isFull).map(({ name }) => name);
  return {
    type: conditions.storageHealthy,
    status: full.length === 0 ? ("True" as const) : ("False" as const),
    reason: full.length === 0 ? reasons.running : reasons.diskFull,
    message:
      full.length === 0
        ? "every volume has room"
        : `the volume of ${full.join(", ")} is full; raise spec.storage.size`,
  };
}

export function conditionsOf(observed: Observed) {
  const { object, record } = observed;
  const primary = primaryOf(observed);
  const newest = record?.published.quorums.at(-1);
  const is = (value: boolean) => (value ? ("True" as const) : ("False" as const));
  const streaming = primary?.report?.standbys.filter(({ counted }) => counted).map(({ name }) => name) ?? [];
  const present = newest
    ? newest.members.filter((name) => name !== primary?.name && streaming.includes(name)).length
    : 0;
  const isSafe =
    newest !== undefined &&
    newest.acks > 1 &&
    present >= votesNeeded(newest) &&
    record?.published.quorums.length === 1;
  const isAsync = object.spec.durability === "async";
  const doubt = primary ? undefined : (silentPrimary(observed) ?? unnamedPrimary(observed));
  return [
    {
      type: conditions.available,
      status: doubt === undefined ? is(primary !== undefined) : ("Unknown" as const),
      reason: primary ? reasons.running : reasons.noPrimary,
      message: primary ? `${primary.name} accepts writes` : (doubt ?? "no instance accepts writes"),
    },
    {
      type: conditions.protected,
      status: is(isSafe),
      reason: isSafe ? reasons.running : isAsync ? reasons.asynchronous : reasons.replicasMissing,
      message: isSafe
        ? `every acknowledged commit is on ${newest.acks} of ${newest.members.join(", ")}`
        : isAsync
          ? "durability is async: a failover may lose the newest commits"
          : "the loss of the primary now would need it back: too few replicas stream",
    },
    storageCondition(observed),
  ];
}

/** Commits are as safe as the spec asks for. */
export function isWhole(
  { spec }: Observed["object"],
  reports: readonly { readonly type: string; readonly status: string }[],
): boolean {
  const isAlone = spec.instances === 1 || spec.durability === "async";
  return isAlone || reports.some(({ type, status }) => type === conditions.protected && status === "True");
}

export function upToDate({ version, report, refused }: UpgradePlan, wanted: string) {
  const isSo = majorPart(version) === majorPart(wanted) && report?.phase !== "Upgrading";
  const failed = refused === undefined ? reasons.upgradeFailed : reasons.downgradeRefused;
  const isOver = refused !== undefined || report?.phase === "Failed";
  return {
    type: conditions.upToDate,
    status: isSo ? ("True" as const) : ("False" as const),
    reason: isSo ? reasons.running : isOver ? failed : reasons.upgrading,
    message: isSo ? `PostgreSQL ${version}` : (refused ?? report?.message ?? `it goes to ${wanted}`),
  };
}

/** The status is not written for every second that the archive goes on: what it says stays true meanwhile. */
const recoverableEveryMs = 300_000;

function recoverable(until: string | undefined, said: string | undefined): Pick<Status, "recoverableUntil"> {
  const known = until ?? said;
  if (known === undefined) return {};
  const isLate = said === undefined || Math.abs(Date.parse(known) - Date.parse(said)) >= recoverableEveryMs;
  return { recoverableUntil: isLate ? known : said };
}

/** What a lost Lease has forgotten stays in the status. */
function known(
  { record, instances }: Observed,
  before: Status | undefined,
): Pick<Status, "epoch" | "systemId"> {
  const epochs = [before?.epoch, record && newestEpoch(record, instances)].filter(
    (each) => each !== undefined,
  );
  const systemId = record?.published.systemId ?? before?.systemId;
  return {
    ...(epochs.length > 0 && { epoch: Math.max(...epochs) }),
    ...(systemId !== undefined && { systemId }),
  };
}

export function statusOf(
  observed: Observed,
  readiness: Readiness,
  before: Status | undefined,
): Partial<Status> {
  const { record, instances, object } = observed;
  const primary = primaryOf(observed);
  const published = record?.published;
  const lags = new Map(
    primary?.report?.standbys.map(({ name, lagBytes, counted }) => [name, { lagBytes, counted }]),
  );
  const quorum = published?.quorums.at(-1);
  return {
    phase: readiness.phase,
    instances: instances.filter(({ pod }) => pod !== undefined).length,
    readyInstances: instances.filter(isReady).length,
    selector: `app.kubernetes.io/name=postgresql,app.kubernetes.io/instance=${object.metadata.name}`,
    members: instances.map((each) => ({
      name: each.name,
      role:
        each.report?.role === "primary" ? "Primary" : each.report?.role === "standby" ? "Replica" : "Unknown",
      ready: isReady(each),
      ...(each.report?.timeline !== undefined && { timeline: each.report.timeline }),
      ...(lags.has(each.name) && {
        lagBytes: Math.max(0, lags.get(each.name)?.lagBytes ?? 0),
        synchronous: lags.get(each.name)?.counted ?? false,
      }),
      ...(each.report?.version && { version: each.report.version }),
      message: each.pod?.obstacle ?? each.report?.reason ?? "its agent does not answer",
    })),
    ...known(observed, before),
    dataUid: dataUidOf(record, { ...object, status: before }),
    ...(published?.timeline !== undefined && { timeline: published.timeline }),
    ...(quorum && { quorum: { members: [...quorum.members], acks: quorum.acks } }),
    ...(published?.lastFailover && { lastFailover: published.lastFailover }),
    ...(published?.switchover && {
      switchover: {
        request: published.switchover.id,
        outcome: published.switchover.outcome,
        message: published.switchover.message,
      },
    }),
    ...(primary
      ? { primary: primary.name }
      : before?.primary !== undefined && record?.holder
        ? { primary: record.holder }
        : {}),
    ...((primary?.report?.version ?? before?.version)
      ? { version: primary?.report?.version ?? before?.version }
      : {}),
    volumes: instances.flatMap(({ claim }) => claim?.volume ?? []),
    binding: { name: `${object.metadata.name}-app` },
    ...recoverable(primary?.report?.recoverableUntil, before?.recoverableUntil),
    ...(before?.lastScheduled !== undefined && { lastScheduled: before.lastScheduled }),
    ...(before?.passwordsRotated !== undefined && { passwordsRotated: before.passwordsRotated }),
    ...(before?.sqlHash !== undefined && { sqlHash: before.sqlHash }),
    ...(before?.upgrade !== undefined && { upgrade: before.upgrade }),
  };
}
