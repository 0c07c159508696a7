/**
 * Which version instances run, and what comes next on the way to another major version. Pure.
 *
 * Waiting: until every instance is ready. Rehearsing: on a clone. BackingUp: into the store, if there is one. Upgrading:
 * the primary is stopped and its data taken over. Cloning: it serves, and the replicas are cloned from it. Done. Failed:
 * everything runs as before.
 */
import type { Status } from "../api/database.ts";
import type { LeaseRecord, Upgrade } from "../ha/state.ts";
import { pendingUpgrade } from "../ha/state.ts";

export interface UpgradeView {
  readonly wanted: string;
  readonly record: LeaseRecord | undefined;
  /** What the primary was last seen to run. */
  readonly running?: string | undefined;
  /** The major version that wrote the data, as far as instances say so. */
  readonly dataMajor?: string | undefined;
  /** Another value tries again what has failed. */
  readonly attempt: string;
  /** Every instance is ready and commits are protected, as far as the spec asks for it. */
  readonly whole: boolean;
  readonly primary: string | undefined;
  readonly rehearsal: "absent" | "succeeded" | UnderWay;
  readonly backup: "unwanted" | "absent" | "done" | UnderWay;
  readonly before: Status["upgrade"];
  readonly nowMs: number;
}

/** What it is called and how it goes, or why it ended. */
type UnderWay = { readonly running: string } | { readonly failed: string };

export type UpgradeAction = "rehearse" | "backup" | "begin" | "abort";

export interface UpgradePlan {
  /** What instances run now; the one that is upgraded runs `upgrade.to`. */
  readonly version: string;
  readonly upgrade?: Upgrade;
  readonly action?: UpgradeAction;
  readonly report?: NonNullable<Status["upgrade"]>;
  /** The spec asks for less than there is. */
  readonly refused?: string;
  readonly id?: string;
}

/** How long the upgraded instance may be away before the others go on without it. */
const deadlineMs = 15 * 60_000;
/** How long it may take to stop and to come back with the new programs. */
const returnMs = 3 * 60_000;

/** What an upgrade or a restore in place says until it can begin. */
export const waitsForAll =
  "it begins when every instance is ready and commits are as safe as spec.durability asks";

/** What keeps an upgrade or a restore in place from being done, in words for the condition Ready. */
export function waitOf({ phase, message }: { readonly phase: string; readonly message: string }): string {
  return phase === "Cloning"
    ? `${message}; it is done when commits are as safe as spec.durability asks`
    : message;
}

export const majorPart = (version: string): string => version.split(".")[0] ?? version;

/** An upgrade that has begun goes on, whatever the spec says by now: half-way there is no version to go back to. */
export function planUpgrade(view: UpgradeView): UpgradePlan {
  const { wanted, record, before } = view;
  const begun = record?.policy.upgrade?.restore ? undefined : record?.policy.upgrade;
  const current = begun ? (record?.policy.version ?? wanted) : versionOfData(view);
  const [from, to] = [majorPart(current), begun?.to ?? majorPart(wanted)];
  if (from === to || !record || record.published.systemId === undefined) {
    const isDone = before !== undefined && before.phase !== "Failed" && before.to === to;
    return { version: from === to ? wanted : current, ...(isDone && { report: settled(before, view) }) };
  }
  if (Number(to) < Number(from)) {
    const advice = `set spec.version to ${from}, or restore a backup of ${to} into a new Database`;
    return {
      version: current,
      refused: `the data is of PostgreSQL ${from} and cannot go back to ${to}; ${advice}`,
      ...(before?.to === from && { report: settled(before, view) }),
    };
  }
  const id = begun?.id ?? [from, to, view.attempt].filter(Boolean).join("-");
  const { upgrade: outcome } = record.published;
  const report = (phase: NonNullable<Status["upgrade"]>["phase"], message: string) => ({
    from,
    to,
    phase,
    message,
    ...(before?.startedAt !== undefined && record.policy.upgrade && { startedAt: before.startedAt }),
  });
  if (outcome?.id === id && outcome.outcome === "Done") {
    return { version: versionTo(to, wanted), report: report("Cloning", outcome.message), id };
  }
  const failed = (message: string): UpgradePlan => ({
    version: current,
    report: report("Failed", message),
    id,
  });
  if (outcome?.id === id) return failed(`${outcome.message}; everything runs as before`);
  if (record.policy.abortedUpgrade === id)
    return failed("the instance did not come back; everything runs as before");
  const pending = pendingUpgrade(record);
  if (pending?.id === id) return { ...underWay(view, pending, report), version: current, id };
  const { rehearsal, backup } = view;
  if (typeof rehearsal === "object" && "failed" in rehearsal)
    return failed(`the rehearsal failed, nothing was touched: ${rehearsal.failed}`);
  if (typeof backup === "object" && "failed" in backup)
    return failed(`the backup before it failed, nothing was touched: ${backup.failed}`);
  const next = (action: UpgradeAction | undefined, ...said: Parameters<typeof report>): UpgradePlan => ({
    version: current,
    ...(action && { action }),
    report: report(...said),
    id,
  });
  if (typeof rehearsal === "object")
    return next(undefined, "Rehearsing", `the upgrade is rehearsed on a clone: ${rehearsal.running}`);
  if (!view.whole || view.primary === undefined) return next(undefined, "Waiting", waitsForAll);
  if (rehearsal === "absent") return next("rehearse", "Rehearsing", "the upgrade is rehearsed on a clone");
  if (backup === "absent") return next("backup", "BackingUp", "a backup is taken first");
  if (typeof backup === "object")
    return next(undefined, "BackingUp", `a backup is taken first: ${backup.running}`);
  const startedAt = new Date(view.nowMs).toISOString();
  const said = report("Upgrading", `${view.primary} stops, and takes its data to ${to}`);
  return {
    version: current,
    action: "begin",
    upgrade: { id, to, instance: view.primary },
    report: { ...said, startedAt },
    id,
  };
}

/** Where the record or the status is lost the data is what it was, whatever the spec asks for meanwhile. */
function versionOfData({ wanted, running = wanted, record, dataMajor }: UpgradeView): string {
  const seen = majorPart(running) === majorPart(wanted) ? wanted : running;
  const known = record?.policy.version ?? seen;
  if (dataMajor === undefined || dataMajor === majorPart(known)) return known;
  const { returnedTo = "" } = record?.published ?? {};
  return majorPart(returnedTo) === dataMajor ? returnedTo : versionTo(dataMajor, wanted);
}

/** The full version that the spec asks for, if it asks for this major one. */
export function versionTo(major: string, wanted: string): string {
  return majorPart(wanted) === major ? wanted : major;
}

function underWay(
  view: UpgradeView,
  pending: Upgrade,
  report: (phase: "Upgrading", message: string) => NonNullable<Status["upgrade"]>,
): Omit<UpgradePlan, "version" | "id"> {
  const { record, before, nowMs } = view;
  const sinceMs = nowMs - (Date.parse(before?.startedAt ?? "") || nowMs);
  const isBack = record?.holder === pending.instance || record?.published.stoppedFor?.upgrade === pending.id;
  const isLost = sinceMs > deadlineMs || (!isBack && sinceMs > returnMs);
  const said = report(
    "Upgrading",
    `${pending.instance} takes its data to ${pending.to}; nobody serves meanwhile`,
  );
  const startedAt = before?.startedAt ?? new Date(nowMs).toISOString();
  return isLost ? { action: "abort", report: said } : { upgrade: pending, report: { ...said, startedAt } };
}

/** The data is of that version: what is left is that the replicas are cloned. */
function settled(
  before: NonNullable<Status["upgrade"]>,
  { whole }: UpgradeView,
): NonNullable<Status["upgrade"]> {
  if (before.phase === "Done") return before;
  return { ...before, phase: whole ? "Done" : "Cloning" };
}
