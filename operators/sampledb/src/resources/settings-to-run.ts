/** The settings that servers run with: they bound what the spec may ask for, and stay while that is refused. */
import { parseJson } from "keelson";
import { annotations } from "../api/names.ts";
import type { SampleDBObject, Spec } from "../api/sampledb.ts";
import type { SampleDBContext } from "./declaration.ts";
import { databasesOf, settingsProblem } from "./settings.ts";

type Own = Pick<SampleDBContext["own"], "set" | "config" | "claims">;

/** Why a setting of the spec is not accepted; undefined when all are. */
export function refusedSetting(db: SampleDBObject, own: Own): string | undefined {
  return settingsProblem(db.spec, databasesWithData(db, own));
}

/** The spec as pods are made from it: while its settings are refused, with those that pods were made with. */
export function specToRun(db: SampleDBObject, own: Own): Spec {
  const kept = settingsOfSet(own);
  return kept === undefined || refusedSetting(db, own) === undefined
    ? db.spec
    : { ...db.spec, settings: kept };
}

/** How many databases there may be data in; undefined when there is no data yet. */
function databasesWithData({ status }: SampleDBObject, own: Own): number | undefined {
  const notes = [...own.claims.entries()].map(([, { metadata }]) => metadata.annotations ?? {});
  const filled = notes.filter((each) => Number(each[annotations.epoch] ?? 0) > 0);
  const marked = filled.flatMap((each) => Number(each[annotations.databases] ?? 0) || []);
  // Servers may never have started with what the objects ask for. Those that led have left their mark, and what a restore
  // has filled has been read by nobody.
  const led = filled.filter((each) => each[annotations.databases] ?? !each[annotations.restored]);
  const isLed = status?.leadership !== undefined || status?.promotion !== undefined;
  if (!isLed && led.length === 0) return undefined;
  const isTold = !isLed || hasLeftMark(status, filled);
  if (isTold && led.length > 0 && marked.length === led.length) return Math.max(...marked);
  const set = settingsOfSet(own);
  // Someone may have deleted either of the two.
  const file = own.config.get()?.data?.["redis.conf"];
  const line = /^databases (\d+)$/m.exec(file ?? "")?.[1];
  const known = [
    ...marked,
    ...(set === undefined ? [] : [databasesOf(set)]),
    ...(file === undefined ? [] : [databasesOf(line === undefined ? {} : { databases: line })]),
  ];
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** Whether the primary has marked its volume since it leads, and nobody else may lead already. */
function hasLeftMark(status: SampleDBObject["status"], filled: readonly Record<string, string>[]): boolean {
  if (!status?.leadership || status.promotion || status.handover || status.upgrade) return false;
  return filled.some((each) => each[annotations.primaryEpoch] === String(status.epoch));
}

/** Those that take effect at a restart only. */
function settingsOfSet(own: Own): Record<string, string> | undefined {
  const text = own.set.get()?.spec?.template?.metadata?.annotations?.[annotations.restartSettings];
  return text === undefined ? undefined : (parseJson(text) as Record<string, string>);
}
