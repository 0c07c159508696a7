/** The controller of EtcdCluster: gather, decide, act. */
import { databaseBackoff, type InspectCertificate, presentedCertificate } from "@keelson/kit";
import { type Controller, controller, type Outcome } from "keelson";
import { EtcdCluster, type EtcdClusterObject } from "./api/cluster.ts";
import { clusterBackupHealth } from "./decide/backup-health.ts";
import { decide, decideBeside } from "./decide/decide.ts";
import type { Decision } from "./decide/decision.ts";
import { conditionsOf, statusOf } from "./decide/report.ts";
import { EtcdGateway } from "./engine/gateway.ts";
import { EtcdMetrics } from "./metrics.ts";
import type { Dial } from "./observe/ask.ts";
import { observe } from "./observe/observe.ts";
import type { Observed } from "./observe/observed.ts";
import type { Sessions } from "./observe/passwords.ts";
import { presentedBy } from "./observe/served.ts";
import { type EtcdContext, owns, reads } from "./resources/declaration.ts";
import { act, actBeside } from "./steps/act.ts";
import { maintainCertificates } from "./steps/certificates.ts";
import { finalize } from "./steps/deletion.ts";
import { applyBudget, applyServices } from "./steps/services.ts";

export interface EtcdOptions {
  /** Makes the client of a member. Default: over its JSON gateway. */
  readonly dial?: Dial;
  /** Looks at the certificate that a member presents. Default: by a TLS handshake. */
  readonly inspect?: InspectCertificate;
  /** Decides what comes next. Default: the policies of this package. */
  readonly decide?: (observed: Observed) => Decision;
  /** Keeps the numbers for Prometheus. Default: an instance of its own. */
  readonly metrics?: EtcdMetrics;
}

export function etcdCluster(options: EtcdOptions = {}): Controller {
  const choose = options.decide ?? decide;
  const dial = options.dial ?? ((address) => new EtcdGateway(address));
  const presented = presentedBy(options.inspect ?? presentedCertificate);
  const sessions: Sessions = new Map();
  const metrics = options.metrics ?? new EtcdMetrics();

  async function pass(cluster: EtcdClusterObject, ctx: EtcdContext): Promise<Outcome> {
    const { paused } = cluster.spec;
    const isGoing = cluster.metadata.deletionTimestamp !== undefined;
    if (!paused) await applyServices(cluster, ctx);

    const certificates = await maintainCertificates(cluster, ctx, presented);
    await using gathered = await observe(cluster, ctx, { dial, certificates, sessions });
    const { observed } = gathered;
    if (!paused && !isGoing) await applyBudget(observed, ctx);

    const decision = choose(observed);
    ctx.setStatus(statusOf(observed, decision));
    const schedules = schedulesOf(cluster, ctx);
    const conditions = [...conditionsOf(observed, decision), clusterBackupHealth(schedules, ctx.cron)];
    for (const condition of conditions) ctx.setCondition(condition);
    metrics.record(cluster, observed, conditions, schedules);
    const onAction = (action: string) => metrics.countAction(cluster, action);
    await actBeside({ cluster, ctx, gathered, onAction }, decideBeside(observed));
    return await act({ cluster, ctx, gathered, onAction }, decision);
  }

  return controller(EtcdCluster, {
    owns,
    reads,
    backoff: databaseBackoff,

    reconcile: pass,

    async finalize(cluster, ctx) {
      const outcome = await finalize(cluster, ctx, pass);
      if (outcome.outcome === "done") metrics.forget(cluster);
      return outcome;
    },
  });
}

function schedulesOf({ metadata }: EtcdClusterObject, ctx: EtcdContext) {
  return ctx.read.schedules.filter(
    (schedule) =>
      schedule.metadata.namespace === metadata.namespace && schedule.spec.cluster === metadata.name,
  );
}
