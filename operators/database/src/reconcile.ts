/** A Database from beginning to end: gather, decide, act. Safety is the agents' business; this is policy. */
import { isDeepStrictEqual } from "node:util";
import { databaseBackoff } from "@keelson/kit";
import { type Controller, controller, done, fail, type Outcome, waiting } from "keelson";
import { type AgentCall, call as callAgent } from "./agent/wire.ts";
import { reasons } from "./api/conditions.ts";
import { Database, type DatabaseObject } from "./api/database.ts";
import { annotations } from "./api/names.ts";
import { isReady, type Readiness, statusOf, upToDate } from "./decide/report.ts";
import { waitOf } from "./decide/upgrade.ts";
import { dataUidOf } from "./ha/state.ts";
import type { DatabaseMetrics } from "./metrics.ts";
import { operatorImage } from "./resources/agent-image.ts";
import { type DatabaseContext, owns, reads, writes } from "./resources/declaration.ts";
import { databaseName } from "./resources/names.ts";
import { settable, unsettable } from "./resources/parameters.ts";
import { storeOf } from "./resources/store.ts";
import { finalize } from "./steps/deletion.ts";
import { keepPooler } from "./steps/pooler.ts";
import { rollOut } from "./steps/rollout.ts";
import { type Pass, runInstances, storesIn } from "./steps/run.ts";
import { keepSchedule } from "./steps/schedule.ts";
import { applySql } from "./steps/sql.ts";
import { protectVolumes } from "./steps/volumes.ts";

export interface DatabaseOptions {
  /** The image that carries the agent. Default: the one that the operator's Deployment names. */
  readonly agentImage?: string;
  /** How agents are called. Default: over TLS with the key that they share. */
  readonly call?: AgentCall;
  readonly metrics?: DatabaseMetrics;
}

/** How often a Database is looked at although nothing changed: its agents report what no watch tells. */
const recheckMs = 3_000;
const restlessMs = 1_000;
const noImage = "the operator does not know its own image: set OPERATOR_IMAGE in its Deployment";

export function databaseController(options: DatabaseOptions = {}): Controller {
  const imageOf = () => options.agentImage ?? operatorImage();
  const { call = callAgent } = options;
  return controller(Database, {
    backoff: databaseBackoff,
    owns,
    reads,
    writes: [...writes],

    async reconcile(object, ctx) {
      const agentImage = imageOf();
      if (agentImage === undefined) return fail(reasons.noImage, noImage);
      const pass = await runInstances(object, ctx, { agentImage, call });
      if ("obstacle" in pass) return pass.obstacle;
      await protectVolumes(object, ctx);
      report(object, ctx, pass);
      options.metrics?.record(
        pass.observed,
        [...pass.reports, readyCondition(pass.readiness)],
        ctx.own.backups.list(),
      );
      if (!object.spec.paused && !pass.held) {
        const problem = await serveApplications(object, ctx, pass, agentImage);
        if (problem) return problem;
      }
      return await outcomeOf(object, ctx, pass);
    },

    async finalize(object, ctx) {
      options.metrics?.forget(object);
      return await finalize(object, ctx, { agentImage: imageOf(), call });
    },
  });
}

function report(object: DatabaseObject, ctx: DatabaseContext, pass: Pass): void {
  const { observed, readiness, plan, reports } = pass;
  for (const condition of [...reports, upToDate(plan, object.spec.version)]) ctx.setCondition(condition);
  ctx.setStatus({
    ...statusOf(observed, readiness, object.status),
    ...(plan.report && { upgrade: plan.report }),
    ...(pass.restoring.report && { restore: pass.restoring.report }),
  });
}

const readyCondition = ({ ready }: Readiness) => ({ type: "Ready", status: ready ? "True" : "False" });

/** Roles, databases, the pooler, backups. */
async function serveApplications(
  object: DatabaseObject,
  ctx: DatabaseContext,
  { observed, primary, access, record, authority }: Pass,
  agentImage: string,
): Promise<Outcome | undefined> {
  if (primary && access) {
    const { systemId, timeline, timelineEpoch } = record?.published ?? {};
    const outcome = await applySql(object, ctx, {
      primary: primary.name,
      access,
      done: object.status?.sqlHash,
      data: {
        ...(systemId !== undefined && { systemId }),
        ...(timeline !== undefined && { timeline }),
        ...(timelineEpoch !== undefined && { timelineEpoch }),
      },
      authority,
    });
    if ("reason" in outcome) return waiting(outcome.reason, outcome.message, { recheckMs });
    ctx.setStatus({ sqlHash: outcome.hash });
    await keepPooler(object, ctx, { agentImage, passwords: outcome.passwords });
  }
  if (!object.spec.backup) return undefined;
  const place = storeOf(object, dataUidOf(record, object));
  const instance = observed.instances.find(
    (each) => isReady(each) && storesIn(ctx, databaseName(object), { name: each.name, place }),
  );
  const lastScheduled = await keepSchedule(object, ctx, { instance: instance?.name, access, place });
  if (lastScheduled !== undefined) ctx.setStatus({ lastScheduled });
  return undefined;
}

async function outcomeOf(object: DatabaseObject, ctx: DatabaseContext, pass: Pass): Promise<Outcome> {
  const { plan, readiness, observed } = pass;
  const { report: upgrade } = plan;
  const soon = { recheckMs: restlessMs };
  if (upgrade?.phase === "Upgrading") return waiting(reasons.upgrading, upgrade.message, soon);
  const { report: restore } = pass.restoring;
  if (restore?.phase === "Restoring") return waiting(reasons.restoring, restore.message, soon);
  if (!readiness.ready) return waiting(readiness.reason, readiness.message, soon);
  const [unset] = unsettable(object.spec);
  if (unset) {
    const message = `spec.parameters has ${unset[0]}, which does not count: ${unset[1]}`;
    return waiting(reasons.settingsRefused, message, { recheckMs });
  }
  const problem = observed.instances.find(({ report: said }) => said?.settingsProblem !== undefined);
  if (problem) {
    const message = `PostgreSQL refuses spec.parameters, and keeps those of before: ${problem.report?.settingsProblem}`;
    return waiting(reasons.settingsRefused, message, { recheckMs });
  }
  // What an upgrade or a restore waits for may need the pods of the newest spec: a backup, for one, its store.
  const rollout =
    object.spec.paused || pass.held
      ? undefined
      : await rollOut(observed, ctx, { version: plan.version, access: pass.access });
  if (rollout !== undefined) return waiting(reasons.rollingOut, rollout, soon);
  if (restore?.phase === "Failed") return waiting(reasons.restoreFailed, restore.message, { recheckMs });
  if (restore && restore.phase !== "Done") return waiting(reasons.restoring, waitOf(restore), soon);
  if (plan.refused !== undefined) return waiting(reasons.downgradeRefused, plan.refused, { recheckMs });
  if (upgrade?.phase === "Failed") {
    const advice = `set spec.version to ${upgrade.from}, or annotate the Database with another ${annotations.retryUpgrade} to try again`;
    return waiting(reasons.upgradeFailed, `${upgrade.message}; ${advice}`, { recheckMs });
  }
  if (upgrade && upgrade.phase !== "Done") return waiting(reasons.upgrading, waitOf(upgrade), soon);
  const settings = settable(object.spec);
  const behind = observed.instances.find(
    ({ report: said }) => said?.settings !== undefined && !isDeepStrictEqual(said.settings, settings),
  );
  if (behind) {
    const message = `${behind.name}: it has not taken spec.parameters yet`;
    return waiting(reasons.rollingOut, message, soon);
  }
  return done({ recheckMs });
}
