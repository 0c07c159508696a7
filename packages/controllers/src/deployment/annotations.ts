/** Annotations by which a deployment remembers revisions and sizes on its replica sets. */

import type { DeploymentObject } from "./deployment-object.ts";
import { maxSurge } from "./limits.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";
export const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
export const desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";

const notCopied = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  "deprecated.deployment.rollback.to",
]);

const historyLimit = 2000;

type Annotations = Readonly<Record<string, string>>;
interface Annotated {
  readonly metadata: { readonly annotations?: Annotations };
}

const largest = 2n ** 63n - 1n;

/** A whole number of 64 bits; undefined for any other text. */
function wholeNumber(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return value <= largest && value >= -largest - 1n ? value : undefined;
}

/** The revision on a set; 0 when there is none to read. */
export function revisionOf({ metadata }: Annotated): bigint {
  return wholeNumber(metadata.annotations?.[revisionAnnotation] ?? "") ?? 0n;
}

export function maxRevision(sets: readonly Annotated[]): bigint {
  let most = 0n;
  for (const revision of sets.map(revisionOf)) if (revision > most) most = revision;
  return most;
}

/** A whole number of at least zero under an annotation. */
export function countUnder({ metadata }: Annotated, annotation: string): number | undefined {
  const value = metadata.annotations?.[annotation];
  if (value === undefined || !/^\d+$/.test(value)) return undefined;
  const count = Number(value);
  return count <= 0x7fffffff ? count : undefined;
}

/** How large the deployment wants to be and may be at most, written on every set it scales. */
export function sizeAnnotations(deployment: DeploymentObject): Record<string, string> {
  const replicas = deployment.spec.replicas ?? 1;
  return {
    [desiredReplicasAnnotation]: String(replicas),
    [maxReplicasAnnotation]: String(replicas + maxSurge(deployment)),
  };
}

/** The annotations of the set that runs the deployment's template, at this revision. */
export function newSetAnnotations(
  deployment: DeploymentObject,
  current: Annotations | undefined,
  revision: bigint,
): Record<string, string> {
  const next: Record<string, string> = { ...current };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!notCopied.has(key)) next[key] = value;
  }
  const before = current?.[revisionAnnotation];
  const old = before === undefined || before === "" ? 0n : wholeNumber(before);
  if (old === undefined || old >= revision) return next;
  next[revisionAnnotation] = String(revision);
  if (before !== undefined)
    next[revisionHistoryAnnotation] = appended(current?.[revisionHistoryAnnotation], before);
  return next;
}

/** A history that forgets its beginning when it becomes too long. */
function appended(history: string | undefined, revision: string): string {
  if (!history) return revision;
  const revisions = [...history.split(","), revision];
  while (revisions.length > 1 && revisions.join(",").length > historyLimit) revisions.shift();
  return revisions.join(",");
}
