/** The digest of what pods are made from. */
import { hash } from "node:crypto";
import { canonicalJson } from "@keelson/core";

/**
 * Twelve hexadecimal digits that change when the recipe does: annotate pods with them to find the outdated ones. Hash the
 * fields of the spec that matter, never the pod that was made from them: a new release of the operator, or a webhook that
 * rewrites images, must not restart anything. Equal values have equal digests, whatever the order of their keys.
 */
export function templateHash(recipe: unknown): string {
  return hash("sha256", canonicalJson(recipe)).slice(0, 12);
}
