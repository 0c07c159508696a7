/** The job that a cron job starts at a time. */
import type { InputOf } from "@keelson/core";
import { clockIn } from "@keelson/core/internal";
import { CronJob, type Job } from "@keelson/core/kinds";
import { controllerReference } from "../ownership/owner-reference.ts";
import type { CronJobObject } from "./due-time.ts";

const timestampAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** The same for the same time, so that no start happens twice. */
export function jobNameAt({ metadata }: CronJobObject, atMs: number): string {
  return `${metadata.name}-${Math.floor(atMs / 60_000)}`;
}

export function jobFromTemplate(cronJob: CronJobObject, atMs: number): InputOf<typeof Job> {
  const { metadata = {}, spec } = cronJob.spec.jobTemplate;
  return {
    metadata: {
      name: jobNameAt(cronJob, atMs),
      namespace: cronJob.metadata.namespace,
      ...(metadata.labels ? { labels: { ...metadata.labels } } : {}),
      annotations: { ...metadata.annotations, [timestampAnnotation]: zonedTime(atMs, cronJob.spec.timeZone) },
      ownerReferences: [controllerReference(cronJob, CronJob)],
    },
    ...(spec ? { spec } : {}),
  };
}

/** `2026-01-01T10:00:00+01:00`, with `Z` where the clock shows UTC. */
export function zonedTime(atMs: number, timeZone?: string): string {
  const offsetMs = clockIn(timeZone).offsetMs(atMs);
  const shown = new Date(atMs + offsetMs).toISOString().slice(0, 19);
  if (offsetMs === 0) return `${shown}Z`;
  return `${shown}${offsetText(offsetMs)}`;
}

function offsetText(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${offsetMs < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
