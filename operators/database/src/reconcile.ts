/** A Database from beginning to end: gather, decide, act. Safety is the agents' business; this is policy. */
import { type Controller, controller, done, fail, waiting } from "keelson";
import { reasons } from "./api/conditions.ts";
import { Database } from "./api/database.ts";
import { planMembers } from "./decide/members.ts";
import { conditionsOf, judge, primaryOf, statusOf } from "./decide/report.ts";
import { observe, readRecord } from "./observe/observe.ts";
import { operatorImage } from "./resources/agent-image.ts";
import { owns, writes } from "./resources/declaration.ts";
import { policyFor } from "./resources/lease.ts";
import { databaseName, instanceName } from "./resources/names.ts";
import { finalize } from "./steps/deletion.ts";
import { keepInstances } from "./steps/instances.ts";
import { applyObjects, applyPolicy } from "./steps/objects.ts";
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
      await applyPolicy(object, ctx, policyFor(object, members.count), record?.policy);
      if (!object.spec.paused || !record) {
        await applyObjects(object, ctx, [...new Set([...members.keep, ...names])]);
        await keepInstances(object, ctx, { members, record, agentImage });
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
        ctx.setStatus({ ...status, sqlHash: outcome.hash });
      }
      if (!verdict.ready) return waiting(verdict.reason, verdict.message, { recheckMs: restlessMs });
      return done({ recheckMs });
    },

    finalize,
  });
}
