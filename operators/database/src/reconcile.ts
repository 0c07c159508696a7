/** A Database from beginning to end: gather, decide, act. Safety is the agents' business; this is policy. */
import { type Controller, controller, done, fail, waiting } from "keelson";
import { reasons } from "./api/conditions.ts";
import { Database } from "./api/database.ts";
import { planMembers } from "./decide/members.ts";
import { conditionsOf, judge, primaryOf, statusOf } from "./decide/report.ts";
import { observe, readRecord } from "./observe/observe.ts";
import { operatorImage } from "./resources/agent-image.ts";
import { owns, reads, writes } from "./resources/declaration.ts";
import { policyFor } from "./resources/lease.ts";
import { databaseName, instanceName } from "./resources/names.ts";
import { restoreSource } from "./resources/store.ts";
import { finalize } from "./steps/deletion.ts";
import { keepInstances } from "./steps/instances.ts";
import { applyObjects, applyPolicy } from "./steps/objects.ts";
import { rollOut } from "./steps/rollout.ts";
import { keepSchedule } from "./steps/schedule.ts";
import { keepAgentSecret } from "./steps/secrets.ts";
import { applySql } from "./steps/sql.ts";

export interface DatabaseOptions {
  /** The image that carries the agent. Default: the one that the operator's Deployment names. */
  readonly agentImage?: string;
}

/** How often a Database is looked at although nothing changed: its agents report what no watch tells. */
const recheckMs = 3_000;
const restlessMs = 1_000;

export function databaseController(options: DatabaseOptions = {}): Controller {
  return controller(Database, {
    owns,
    reads,
    writes: [...writes],

    async reconcile(object, ctx) {
      const agentImage = options.agentImage ?? operatorImage();
      if (agentImage === undefined) {
        return fail(
          reasons.noImage,
          "the operator does not know its own image: set OPERATOR_IMAGE in its Deployment",
        );
      }
      const database = databaseName(object);
      const record = await readRecord(object, ctx);
      const isOld = record?.published.systemId !== undefined && record.policy.databaseUid !== database.uid;
      if (object.spec.restoreFrom && isOld) {
        return fail(
          reasons.dataExists,
          "the volumes of an earlier Database of this name hold data, so nothing is restored; delete its claims and its Lease, or remove restoreFrom",
        );
      }
      const restore =
        record?.published.systemId === undefined ? restoreSource(object, ctx.read.restoreFrom) : undefined;
      if (typeof restore === "string") return waiting(reasons.backupPending, restore);
      const key = await keepAgentSecret(object, ctx);
      const existing = [...new Set([...ctx.own.claims.entries().keys(), ...ctx.own.pods.entries().keys()])]
        .filter((slot) => /^[0-9]+$/.test(slot))
        .map((slot) => instanceName(database, Number(slot)));
      const counted = record?.policy.instances ?? [];
      const promised = record?.published.quorums.flatMap(({ members }) => [...members]) ?? [];
      const names = [...new Set([...counted, ...existing])].sort(
        (a, b) => a.length - b.length || (a < b ? -1 : 1),
      );
      const observed = await observe(object, ctx, { names, record, key });
      const primary = primaryOf(observed);
      const streaming = primary?.report?.standbys.map(({ name }) => name) ?? [];
      const members = planMembers({
        database: database.name,
        wanted: object.spec.instances,
        counted,
        existing,
        primary: record?.holder || undefined,
        streaming,
        promised,
        initialised: record?.published.systemId !== undefined,
      });
      await applyPolicy(object, ctx, policyFor(object, members.count, record), record?.policy);
      if (!object.spec.paused || !record) {
        await applyObjects(object, ctx, [...new Set([...members.keep, ...names])]);
        await keepInstances(object, ctx, { members, record, agentImage, restore });
      }
      const verdict = judge(observed);
      for (const condition of conditionsOf(observed)) ctx.setCondition(condition);
      const status = statusOf(observed, verdict, object.status);
      ctx.setStatus(status);
      if (primary && key && !object.spec.paused) {
        const outcome = await applySql(object, ctx, {
          primary: primary.name,
          key,
          done: object.status?.sqlHash,
          epoch: record?.published.timelineEpoch ?? 0,
        });
        if ("reason" in outcome) return waiting(outcome.reason, outcome.message, { recheckMs });
        ctx.setStatus({ sqlHash: outcome.hash });
      }
      if (object.spec.backup && !object.spec.paused) {
        const lastScheduled = await keepSchedule(object, ctx);
        if (lastScheduled !== undefined) ctx.setStatus({ lastScheduled });
      }
      if (!verdict.ready) return waiting(verdict.reason, verdict.message, { recheckMs: restlessMs });
      const rollout = object.spec.paused ? undefined : await rollOut(observed, ctx);
      if (rollout !== undefined) return waiting(reasons.rollingOut, rollout, { recheckMs: restlessMs });
      return done({ recheckMs });
    },

    finalize,
  });
}
