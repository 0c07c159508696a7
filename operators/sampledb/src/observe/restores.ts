/** What is known of restores: what the spec asks for, and what volumes say of where their data came from. */
import { hash } from "node:crypto";
import type { SampleDBObject, Status } from "../api/sampledb.ts";
import { databaseName, serverName } from "../resources/names.ts";
import type { ClaimView } from "./observed.ts";

/** Names what a spec asks for: the same again is the same wish. */
export function wishId(restoreFrom: NonNullable<SampleDBObject["spec"]["restoreFrom"]>): string {
  return hash("sha256", JSON.stringify(restoreFrom)).slice(0, 10);
}

/** Names one carrying-out of a wish. */
export function restoreId(wish: string, epoch: number | undefined): string {
  return `${wish}-${epoch ?? 0}`;
}

/** Earlier releases recorded the wish as the id. */
function wishOf(id: string): string {
  return id.split("-")[0] as string;
}

/** Where a restore keeps the data from before, on its volume. */
export function asideOf(id: string): string {
  return `aside-${id}`;
}

/**
 * A restore that was carried out is carried out, also when the status that recorded it is gone: doing it again would undo
 * everything that was written since. The claims know it.
 */
export function withKnownRestore(
  db: SampleDBObject,
  status: Status,
  claims: ReadonlyMap<number, Pick<ClaimView, "epoch" | "deleting" | "restored">>,
): Status {
  const { restoreFrom } = db.spec;
  if (!restoreFrom || status.restore) return status;
  const wish = wishId(restoreFrom);
  const found = [...claims].find(
    ([, { epoch = 0, deleting, restored }]) =>
      epoch > 0 && !deleting && restored !== undefined && wishOf(restored) === wish,
  );
  if (!found) return status;
  const [ordinal, { restored: id = "" }] = found;
  const server = serverName(databaseName(db), ordinal);
  const aside = id === restoreId(wish, undefined) ? {} : { aside: asideOf(id) };
  // What it lacks may not have been applied to it yet.
  return { ...status, restore: { id, wish, phase: "Starting", server, ...aside } };
}
