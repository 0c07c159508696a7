/** Which pods a job makes and removes next. Pure. */

import { isPodTerminating, type PodObject } from "@keelson/workloads";
import { compareForDeletion } from "../pods/pod-ranking.ts";
import { remainingMs } from "./backoff.ts";
import { IndexSet } from "./indexes.ts";
import {
  countUnder,
  failureCountAnnotation,
  failuresBefore,
  finishedMs,
  hasLimitPerIndex,
  ignoredFailureCountAnnotation,
  indexOf,
  isIndexed,
  isSuspended,
  type JobObject,
  replacesOnlyFailed,
  validIndexOf,
} from "./job-pods.ts";
import { isFailureCounted } from "./policies.ts";
import type { Survey } from "./survey.ts";

/** A pod to be made; for an index where the job has such. */
export interface Creation {
  readonly index?: number;
  /** Failures of the index so far, where each index has its own limit. */
  readonly failures?: { readonly counted: number; readonly ignored: number };
}

export interface Moves {
  readonly remove: readonly PodObject[];
  readonly create: readonly Creation[];
  /** Something is due then. */
  readonly recheckMs?: number;
}

const mostAtOnce = 500;

export function nextMoves(survey: Survey, nowMs: number): Moves {
  const { job, active } = survey;
  if (isSuspended(job)) return { remove: removable(survey, active.length, nowMs), create: [] };
  const wanted = wantedActive(survey);
  const remove = removable(survey, Math.max(0, active.length - wanted), nowMs).slice(0, mostAtOnce);
  if (remove.length > 0) return { remove, create: [] };
  const leaving = replacesOnlyFailed(job) ? survey.terminating : 0;
  const missing = Math.min(wanted - leaving - active.length, mostAtOnce);
  if (missing <= 0) return { remove, create: [] };
  if (!hasLimitPerIndex(job)) {
    const wait = remainingMs(survey.backoff, nowMs);
    if (wait > 0) return { remove, create: [], recheckMs: wait };
  }
  if (!isIndexed(job)) return { remove, create: Array.from({ length: missing }, () => ({})) };
  return { remove, ...indexedCreations(survey, missing, nowMs) };
}

function wantedActive({ job, succeeded, active }: Survey): number {
  const { completions, parallelism = 1 } = job.spec;
  // Without a number of completions the first success ends it: those that run may finish, none is added.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

function indexedCreations(survey: Survey, count: number, nowMs: number): Pick<Moves, "create" | "recheckMs"> {
  const { job, active, pods, indexes } = survey;
  if (!indexes) return { create: [] };
  const of = (some: readonly PodObject[]) => IndexSet.of(some.flatMap((pod) => indexOf(pod) ?? []));
  let taken = indexes.succeeded.union(of(active));
  if (replacesOnlyFailed(job)) taken = taken.union(of(pods.filter(isPodTerminating)));
  if (indexes.failed) taken = taken.union(indexes.failed);
  const free = taken.missing(count, job.spec.completions ?? 0);
  if (!hasLimitPerIndex(job)) return { create: free.map((index) => ({ index })) };
  const waits = free.map((index) => indexWaitMs(indexes.waiting.get(index), nowMs));
  const create = free
    .filter((_, position) => waits[position] === 0)
    .map((index) => ({ index, failures: failuresOf(job, indexes.waiting.get(index)) }));
  if (create.length > 0 || free.length === 0) return { create };
  return { create, recheckMs: Math.min(...waits) };
}

function indexWaitMs(failed: PodObject | undefined, nowMs: number): number {
  if (!failed) return 0;
  return remainingMs({ failures: failuresBefore(failed) + 1, lastFailureMs: finishedMs(failed) }, nowMs);
}

/** The failures that a pod takes over from the one it replaces. */
function failuresOf(job: JobObject, replaced: PodObject | undefined): { counted: number; ignored: number } {
  if (!replaced) return { counted: 0, ignored: 0 };
  const counts = isFailureCounted(job.spec.podFailurePolicy, replaced);
  return {
    counted: countUnder(replaced, failureCountAnnotation) + Number(counts),
    ignored: countUnder(replaced, ignoredFailureCountAnnotation) + Number(!counts),
  };
}

/** At least so many of the active pods: those first that share an index with another or have none. */
function removable({ job, active }: Survey, atLeast: number, nowMs: number): PodObject[] {
  const dispensable = (a: PodObject, b: PodObject) => compareForDeletion(a, b, () => 0, nowMs);
  if (!isIndexed(job)) return active.toSorted(dispensable).slice(0, atLeast);
  const byIndex = Map.groupBy(active, (pod) => validIndexOf(job, pod));
  const extra: PodObject[] = [];
  const left: PodObject[] = [];
  for (const [index, pods] of byIndex) {
    const sorted = pods.toSorted(dispensable);
    const kept = index === undefined ? undefined : sorted.pop();
    extra.push(...sorted);
    if (kept) left.push(kept);
  }
  const more = Math.max(0, atLeast - extra.length);
  return [...extra, ...left.toSorted(dispensable).slice(0, more)];
}
