/** What of the spec a pod is made from, and its digest: another digest means another pod. */
import { hash } from "node:crypto";
import type { DatabaseObject, Spec } from "../api/database.ts";
import { dataUidOf, type LeaseRecord } from "../ha/state.ts";
import { type StorePlace, storeOf } from "./store.ts";

export interface Recipe {
  readonly image: string;
  readonly resources?: unknown;
  readonly pod?: Spec["pod"];
  readonly leaseSeconds: number;
  readonly tls: Spec["tls"];
  /** Where backups go: the claim is mounted. */
  readonly store?: StorePlace;
  /** The log is not kept there. */
  readonly archive?: false;
}

/** `version` is what instances run, which is not what the spec says while a major upgrade is under way or has failed. */
export function recipeOf(
  object: DatabaseObject,
  { version, record }: { readonly version: string; readonly record: LeaseRecord | undefined },
): Recipe {
  const { image, resources, pod, failover, tls, backup } = object.spec;
  const store = storeOf(object, dataUidOf(record, object));
  return {
    image: `${image}:${version}`,
    leaseSeconds: failover.leaseSeconds,
    tls,
    ...(resources === undefined ? {} : { resources }),
    ...(pod === undefined ? {} : { pod }),
    ...(store && { store }),
    ...(backup?.archive === false && { archive: false }),
  };
}

/** Of the recipe alone, never of what is made from it: a new release of the operator restarts nobody. */
export function digestOf(value: unknown): string {
  return hash("sha256", canonical(value)).slice(0, 12);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}
