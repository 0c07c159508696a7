/** What becomes of an object, given what became of its owners. Pure. */
import type { OwnerReference } from "@keelson/core";
import { foregroundFinalizer, orphanFinalizer } from "./graph.ts";

/**
 * - `solid`: the owner exists and stays.
 * - `waiting`: the owner is being deleted in the foreground and waits for this object.
 * - `dangling`: there is no such owner.
 * - `unresolvable`: it cannot be told; nothing may be decided on it.
 */
export type OwnerState = "solid" | "waiting" | "dangling" | "unresolvable";

export type Decision =
  | { readonly action: "keep" }
  /** Some owners are left: references to the others go. */
  | { readonly action: "disown"; readonly uids: readonly string[] }
  | { readonly action: "delete"; readonly propagation: "Background" | "Foreground" | "Orphan" };

export interface Judged {
  readonly owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[];
  readonly finalizers: readonly string[];
  readonly hasDependents: boolean;
}

export function judge({ owners, finalizers, hasDependents }: Judged): Decision {
  if (owners.length === 0 || owners.some(({ state }) => state === "unresolvable")) return { action: "keep" };
  const gone = owners.filter(({ state }) => state !== "solid");
  if (gone.length < owners.length) {
    return gone.length === 0
      ? { action: "keep" }
      : { action: "disown", uids: gone.map(({ reference }) => reference.uid) };
  }
  if (hasDependents && owners.some(({ state }) => state === "waiting")) {
    return { action: "delete", propagation: "Foreground" };
  }
  if (finalizers.includes(orphanFinalizer)) return { action: "delete", propagation: "Orphan" };
  if (finalizers.includes(foregroundFinalizer)) return { action: "delete", propagation: "Foreground" };
  return { action: "delete", propagation: "Background" };
}
