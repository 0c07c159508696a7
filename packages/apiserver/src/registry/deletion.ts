/** What a delete asks for, and what becomes of the object. */
import type { ApiObject } from "../contracts/object.ts";

export type Propagation = "Foreground" | "Background" | "Orphan";

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: Propagation | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/**
 * - `pending`: a graceful deletion is under way and this request does not shorten it.
 * - `mark`: `draft` is stored; finalizers or a grace period hold the object.
 * - `remove`: the object goes; when there is a `draft`, it is stored first.
 */
export type Deletion =
  | { readonly kind: "pending" }
  | { readonly kind: "mark"; readonly draft: ApiObject }
  | { readonly kind: "remove"; readonly draft: ApiObject | undefined };
