/** The Job of the initial configuration. Pure. */
import { initializationKey, initializationPrefix, waitingMigrations } from "../agent/initialization.ts";
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { healthyPrimary } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

/** What failed is tried again after this long: servers that were not reached may be by then. */
const againMs = 300_000;

/** The Jobs of this and of earlier configurations. */
export function initializationJobs({ jobs }: Observed): readonly string[] {
  return jobs.flatMap(({ key }) => (key.startsWith(initializationPrefix) ? [key] : []));
}

export function initialize(o: Observed): Plan {
  if (o.status.initialized === o.initHash || o.status.upgrade) return {};
  const key = initializationKey(o.initHash);
  const job = o.jobs.find((each) => each.key === key);
  if (job?.state === "succeeded") {
    if (o.schemaVersion === undefined)
      return { notReady: waitingFor(reasons.initializing, "the primary is asked which migrations ran", 500) };
    // An earlier configuration that comes back is applied again.
    const keys = initializationJobs(o).filter((each) => each !== key);
    return {
      ...(keys.length > 0 && { actions: [{ do: "deleteJobs", keys }] }),
      status: { initialized: o.initHash, schemaVersion: o.schemaVersion },
      events: [{ type: "Normal", reason: "Initialized", message: appliedWords(o) }],
      notReady: waitingFor(reasons.initializing, "the initial configuration is applied", 0),
    };
  }
  if (job?.state === "failed") {
    const message = `the initial configuration was refused: ${job.message}; correct spec.initialize, spec.users or spec.migrations`;
    const isOver = job.failedMs !== undefined && o.nowMs - job.failedMs >= againMs;
    return {
      ...(isOver && { actions: [{ do: "deleteJobs", keys: [key] }] }),
      notReady: { state: "failed", reason: reasons.initializationFailed, message },
    };
  }
  if (!healthyPrimary(o)) return {};
  return {
    ...(job ? {} : { actions: [{ do: "startInit" as const, hash: o.initHash }] }),
    notReady: waitingFor(
      reasons.initializing,
      `Job ${o.database.name}-${key} applies the initial configuration`,
      5_000,
    ),
  };
}

function appliedWords({ spec, status }: Observed): string {
  const words = "the initial configuration is applied";
  const waiting = waitingMigrations(spec, status.imageVersion ?? spec.version);
  if (!waiting) return words;
  const { version, since, behind } = waiting;
  const others = behind.length > 0 ? `, and with it ${behind.join(", ")}` : "";
  return `${words}; migration ${version} waits for Redis ${since}${others}`;
}
