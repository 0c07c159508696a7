/** What is known of restores: what the spec asks for, and what volumes say of where their data came from. */
import { hash } from "node:crypto";
import type { ObjectOf } from "keelson";
import type { Job } from "keelson/kinds";
import type { SampleDBObject, Status } from "../api/sampledb.ts";
import { type DatabaseName, databaseName, ordinalOf, serverName } from "../resources/names.ts";
import type { ClaimView, JobView } from "./observed.ts";
import { jobView } from "./views.ts";

/** Names what a spec asks for: the same again is the same wish. */
export function wishId(restoreFrom: NonNullable<SampleDBObject["spec"]["restoreFrom"]>): string {
  return hash("sha256", JSON.stringify(restoreFrom)).slice(0, 10);
}

/** Names one carrying-out of a wish. */
export function restoreId(wish: string, epoch: number | undefined): string {
  return `${wish}-${epoch ?? 0}`;
}

/** Names another carrying-out of the same wish, for the data of the same time: nothing that the one before left is its own. */
export function nextRestoreId(id: string): string {
  const attempt = Number(id.split("-")[2] ?? 1) + 1;
  return `${restoreId(wishOf(id), epochBefore(id))}-${attempt}`;
}

/** Earlier releases recorded the wish as the id. */
export function wishOf(id: string): string {
  return id.split("-")[0] as string;
}

/** The newest epoch before it; 0 when there was no data. */
export function epochBefore(id: string): number {
  return Number(id.split("-")[1] ?? 0);
}

/** Whether there was data before it, which it set aside. Earlier releases did not record that: there may have been. */
export function hadData(id: string): boolean {
  return id.split("-")[1] !== "0";
}

/** Of so many restores it is known that they were carried out. */
const restoresKept = 50;

/** The ids of restores that were carried out, the newest first: its data is served. */
export function carriedOut({ restore, restores = [] }: Pick<Status, "restore" | "restores">): string[] {
  const isLast = restore?.phase === "Starting" || restore?.phase === "Done";
  return [...new Set([...(isLast ? [restore.id] : []), ...restores])].slice(0, restoresKept);
}

/** As they are written on a claim. */
export function restoredMark(ids: readonly string[]): string {
  return ids.join(" ");
}

/** The Jobs of restores have these keys, and no others. */
export const restoreKey = (id: string): string => `restore-${id}`;

/** A restore's Job. */
export interface RestoreJob {
  readonly id: string;
  readonly state: JobView["state"];
  /** The one whose volume it fills. */
  readonly server: string;
}

/** The restores among Jobs; those that are being deleted do not count. */
export function restoreJobs(
  database: DatabaseName,
  jobs: Iterable<readonly [string, ObjectOf<typeof Job>]>,
): RestoreJob[] {
  return [...jobs].flatMap(([key, job]) => {
    const data = job.spec?.template?.spec?.volumes?.find(({ name }) => name === "data");
    const claim = data?.persistentVolumeClaim?.claimName ?? "";
    const ordinal = ordinalOf(database, claim.replace(/^data-/, ""));
    const isLeaving = job.metadata.deletionTimestamp !== undefined;
    if (!key.startsWith(restoreKey("")) || ordinal === undefined || isLeaving) return [];
    const id = key.slice(restoreKey("").length);
    return [{ id, state: jobView(key, job).state, server: serverName(database, ordinal) }];
  });
}

/**
 * A restore whose Job may have touched a volume is completed, also when the status that recorded it is gone: the status was
 * lost, or the database was made again.
 */
export function withUnfinishedRestore(
  database: DatabaseName,
  status: Status,
  { jobs, claims }: { readonly jobs: readonly RestoreJob[]; readonly claims: Claims },
): Status {
  const { restore: known } = status;
  if (known && known.phase !== "Done" && known.phase !== "Failed") return status;
  const [job] = jobs
    .filter(({ id, state, server }) => {
      if (state === "failed" || id === known?.id) return false;
      const claim = claims.get(ordinalOf(database, server) ?? -1);
      // What came later has marked the volume with a later epoch.
      const isMarked = claim === undefined || (claim.epoch ?? 0) > epochBefore(id) || lastOf(claim) === id;
      return state === "running" || !isMarked;
    })
    .sort((a, b) => Number(b.state === "running") - Number(a.state === "running"));
  if (!job) return status;
  const { primary: _, leadership: __, promotion: ___, fence: ____, handover: _____, ...rest } = status;
  const { id, server } = job;
  return { ...rest, restore: { id, wish: wishOf(id), phase: "Filling", server } };
}

type Claims = ReadonlyMap<number, Pick<ClaimView, "epoch" | "deleting" | "restored">>;

/** Where a restore keeps the data from before, on its volume. */
export function asideOf(id: string): string {
  return `aside-${id}`;
}

/** The restore that the data of a volume came from. */
export function lastOf({ restored }: Pick<ClaimView, "restored">): string | undefined {
  return restored?.split(" ")[0];
}

/**
 * A restore that was carried out is carried out, also when the status that recorded it is gone: doing it again would undo
 * everything that was written since. The claims know it.
 */
export function withKnownRestore(db: SampleDBObject, status: Status, claims: Claims): Status {
  if (status.restore) return status;
  const marked = [...claims]
    .filter(([, { epoch = 0, deleting, restored }]) => epoch > 0 && !deleting && restored !== undefined)
    .sort(([, a], [, b]) => (b.epoch ?? 0) - (a.epoch ?? 0));
  const [newest] = marked;
  if (!newest) return status;
  const known = status.restores ? status : { ...status, restores: newest[1].restored?.split(" ") ?? [] };
  const { restoreFrom } = db.spec;
  const wish = restoreFrom && wishId(restoreFrom);
  const found = marked.find(([, claim]) => wishOf(lastOf(claim) ?? "") === wish);
  if (!found || wish === undefined) return known;
  const [ordinal, claim] = found;
  const id = lastOf(claim) ?? "";
  const server = serverName(databaseName(db), ordinal);
  const aside = hadData(id) ? { aside: asideOf(id) } : {};
  // What it lacks may not have been applied to it yet.
  return { ...known, restore: { id, wish, phase: "Starting", server, ...aside } };
}
