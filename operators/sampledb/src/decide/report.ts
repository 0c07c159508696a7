/** What the status says after a pass: pure, and the same as long as nothing changes. */

import { conditions, type Reason, reasons } from "../api/conditions.ts";
import type { Status } from "../api/sampledb.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { objectNames, selectorLabels } from "../resources/names.ts";
import { healthyPrimary, isInSync, isUnattached, wantedServers } from "./facts.ts";
import type { Plan } from "./plan.ts";

export interface ConditionReport {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export function statusOf(o: Observed, plan: Plan): Status {
  const primary = healthyPrimary(o);
  const replicas = primary ? o.servers.filter((server) => isInSync(server, primary)).length : 0;
  return defined({
    ...o.status,
    phase: phaseOf(plan),
    version: primary?.facts.version ?? o.status.version,
    replicas,
    selector: Object.entries(selectorLabels(o.database))
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
    servers: o.servers.map((server) => serverReport(o, server)),
    binding: { name: objectNames(o.database).binding },
    ...plan.status,
  });
}

function serverReport(o: Observed, server: Server): NonNullable<Status["servers"]>[number] {
  const facts = factsOf(server);
  const role = !facts
    ? "Unknown"
    : facts.role === "primary"
      ? "Primary"
      : isUnattached(facts)
        ? "Unattached"
        : "Replica";
  const message = server.pod?.obstacle ?? (server.ordinal >= wantedServers(o) ? "too many" : undefined);
  return defined({
    name: server.name,
    role,
    version: facts?.version,
    ready: server.pod?.ready ?? false,
    volume: server.claim?.volume,
    message,
  });
}

export function conditionsOf(o: Observed, plan: Plan): ConditionReport[] {
  const primary = healthyPrimary(o);
  const { notReady } = plan;
  const reason = notReady?.reason ?? reasons.healthy;
  const message = notReady?.message ?? "";
  const sick = notReady !== undefined && trouble.has(notReady.reason);
  return [
    primary
      ? {
          type: conditions.available,
          status: "True",
          reason: reasons.healthy,
          message: `${primary.server.name} takes writes`,
        }
      : { type: conditions.available, status: "False", reason, message },
    {
      type: conditions.degraded,
      status: sick ? "True" : "False",
      reason: sick ? reason : reasons.healthy,
      message: sick ? message : "",
    },
  ];
}

const trouble: ReadonlySet<Reason> = new Set([
  ...[reasons.initializationFailed, reasons.replicasMissing, reasons.primaryUnreachable, reasons.fencing],
  reasons.primaryBusy,
  ...[
    reasons.primaryLost,
    reasons.dataLost,
    reasons.rolloutFailed,
    reasons.resizeRefused,
    reasons.upgradeFailed,
  ],
  ...[reasons.versionRefused, reasons.settingRefused, reasons.secretInvalid, reasons.restoreFailed],
  reasons.diskFull,
]);

function phaseOf({ notReady }: Plan): string {
  if (!notReady) return "Running";
  const phases: Partial<Record<Reason, string>> = {
    [reasons.promoting]: "FailingOver",
    [reasons.fencing]: "FailingOver",
    [reasons.primaryUnreachable]: "FailingOver",
    [reasons.replicasMissing]: "Running",
  };
  return phases[notReady.reason] ?? notReady.reason;
}

/** Without what is undefined: absent and undefined are the same to JSON. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}
