/**
 * Brings the data of a running Database back to a backup or a moment, and back again. Pure.
 *
 * Waiting: until every instance is ready and the backup is known. Restoring: the primary has stopped, and its data is
 * replaced; what was there is kept beside it. Cloning: it serves, and the replicas follow it. Done. Failed: as before.
 */
import type { DatabaseBackupObject } from "../api/backup.ts";
import type { Spec, Status } from "../api/database.ts";
import { type LeaseRecord, pendingUpgrade, restoreId, type Upgrade } from "../ha/state.ts";
import { majorPart, waitsForAll } from "./upgrade.ts";

export interface RestoreView {
  readonly wish: Spec["restoreInPlace"];
  readonly record: LeaseRecord | undefined;
  readonly whole: boolean;
  readonly primary: string | undefined;
  /** What the primary stores lies where the spec says. */
  readonly hasStore: boolean;
  readonly version: string;
  /** Those that lie where the spec says. */
  readonly backups: readonly DatabaseBackupObject[];
  /** Names of the others: of other data that had this name, or in a store of before. */
  readonly elsewhere: readonly string[];
  readonly before: Status["restore"];
}

export interface RestorePlan {
  readonly upgrade?: Upgrade;
  readonly report?: NonNullable<Status["restore"]>;
}

/** Without the wish it is called off; an instance that is about to put the data in place does so all the same. */
export function planRestore(view: RestoreView): RestorePlan {
  const { wish, record, before, whole } = view;
  if (!wish || !record) return {};
  const id = restoreId(wish.id);
  const report = (phase: NonNullable<Status["restore"]>["phase"], message: string) => ({
    id: wish.id,
    phase,
    message,
  });
  const { upgrade: last, restored, restores = [] } = record.published;
  const outcome = [last, restored].find((each) => each?.id === id);
  const failed = (why: string, what: string) => ({
    report: report("Failed", `${why}; everything is as before; ${what}, or remove it`),
  });
  if (outcome?.outcome === "Failed")
    return failed(outcome.message, "correct spec.restoreInPlace and give it another id");
  if (outcome) return { report: report(whole ? "Done" : "Cloning", outcome.message) };
  // The spec may be that of an earlier time, by a revert or with the API server: what came after it is not thrown away.
  if (restores.includes(id))
    return failed(
      `restore ${wish.id} was carried out before another one, and is not carried out twice`,
      "give spec.restoreInPlace another id to go back again",
    );
  // Older releases forgot it when the version was upgraded after it.
  if (before?.id === wish.id && (before.phase === "Done" || before.phase === "Failed"))
    return { report: before };
  const pending = pendingUpgrade(record);
  if (pending?.id === id) {
    return {
      upgrade: pending,
      report: report("Restoring", `${pending.instance} replaces its data; nobody serves meanwhile`),
    };
  }
  if (pending || !whole || view.primary === undefined) return { report: report("Waiting", waitsForAll) };
  const target = targetOf(view);
  if (typeof target === "string") return { report: report("Waiting", target) };
  if (!target.undo && !view.hasStore)
    return { report: report("Waiting", `it begins when ${view.primary} has the store of spec.backup`) };
  const upgrade = {
    id,
    to: majorPart(view.version),
    instance: view.primary,
    restore: { ...target, since: record.epoch },
  };
  return { upgrade, report: report("Restoring", `${view.primary} stops, and replaces its data`) };
}

function targetOf({
  wish,
  backups,
  elsewhere,
}: RestoreView): Omit<NonNullable<Upgrade["restore"]>, "since"> | string {
  if (!wish || wish.undo) return { undo: true };
  const moment = wish.targetTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(wish.targetTime);
  const done = backups
    .filter(({ status }) => status?.phase === "Done" && Date.parse(status.finishedAt ?? "") <= moment)
    .sort((a, b) => Date.parse(b.status?.finishedAt ?? "") - Date.parse(a.status?.finishedAt ?? ""));
  if (wish.backup !== undefined && elsewhere.includes(wish.backup))
    return `DatabaseBackup ${wish.backup} does not lie where this Database keeps its own; restore it into a new Database with restoreFrom, or choose another one in spec.restoreInPlace`;
  const found =
    wish.backup === undefined ? done[0] : backups.find(({ metadata }) => metadata.name === wish.backup);
  if (found?.status?.phase !== "Done" || !found.status.location)
    return wish.backup === undefined
      ? "there is no proven backup from before that moment; take one, or correct spec.restoreInPlace"
      : `DatabaseBackup ${wish.backup} is not done`;
  const { name } = found.status.location;
  return { backup: name, ...(wish.targetTime !== undefined && { targetTime: wish.targetTime }) };
}
