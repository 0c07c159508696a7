/** The Job of the initial configuration. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { healthyPrimary } from "./facts.ts";
import { type Plan, waitingFor } from "./plan.ts";

export function initialize(o: Observed): Plan {
  if (o.status.initialized === o.initHash || o.status.upgrade) return {};
  const job = o.jobs.find(({ key }) => key === `init-${o.initHash}`);
  if (job?.state === "succeeded") {
    return {
      status: { initialized: o.initHash, schemaVersion: o.schemaVersion },
      events: [{ type: "Normal", reason: "Initialized", message: "the initial configuration is applied" }],
      notReady: waitingFor(reasons.initializing, "the initial configuration is applied", 0),
    };
  }
  if (job?.state === "failed") {
    const message = `the initial configuration was refused: ${job.message}; correct spec.initialize, spec.users or spec.migrations`;
    return { notReady: { state: "failed", reason: reasons.initializationFailed, message } };
  }
  if (!healthyPrimary(o)) return {};
  return {
    ...(job ? {} : { actions: [{ do: "startInit" as const, hash: o.initHash }] }),
    notReady: waitingFor(reasons.initializing, "the initial configuration is being applied", 5_000),
  };
}
