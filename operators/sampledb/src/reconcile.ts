/** A SampleDB from beginning to end: gather, decide, act. */
import { hash } from "node:crypto";
import { databaseBackoff } from "@keelson/kit";
import { type Controller, controller, done, fail, type Outcome, waiting } from "keelson";
import { reasons } from "./api/conditions.ts";
import { SampleDB, type SampleDBObject } from "./api/sampledb.ts";
import { decide } from "./decide/decide.ts";
import { healthyPrimary } from "./decide/facts.ts";
import type { Plan } from "./decide/plan.ts";
import { conditionsOf, statusOf } from "./decide/report.ts";
import { RedisError } from "./engine/errors.ts";
import { type Dial, dialRedis, redisPort } from "./engine/redis.ts";
import { trustOf } from "./observe/certificates.ts";
import { Memory } from "./observe/memory.ts";
import { type ObserveOptions, observe } from "./observe/observe.ts";
import type { Observed } from "./observe/observed.ts";
import { owns, reads, type SampleDBContext, writes } from "./resources/declaration.ts";
import { databaseName, tlsSecretName } from "./resources/names.ts";
import { bindingSecret } from "./resources/secrets.ts";
import { act, openWrites } from "./steps/act.ts";
import { keepBackups } from "./steps/backups.ts";
import { authorityFor, keepCertificates, reloadCertificates } from "./steps/certificates.ts";
import { finalize } from "./steps/deletion.ts";
import { applyObjects, applyServers } from "./steps/objects.ts";
import { keepPasswords } from "./steps/passwords.ts";
import { stillAsked } from "./steps/still-asked.ts";
import { tellServers } from "./steps/tell.ts";
import { keepTrial } from "./steps/trial.ts";
import { protectVolumes } from "./steps/volumes.ts";

export interface SampleDBOptions {
  /** How servers are spoken to. Default: over the network. */
  readonly dial?: Dial;
  /** How it is decided what comes next. Default: the policies of this package. */
  readonly decide?: (observed: Observed) => Plan;
}

/** How often servers are asked though nothing changed: the operator notices a silent primary by this alone. */
const restMs = 1_000;

export function sampleDB(options: SampleDBOptions = {}): Controller {
  const dial = options.dial ?? dialRedis;
  const choose = options.decide ?? decide;
  const memories = new Memory();
  return controller(SampleDB, {
    backoff: databaseBackoff,
    owns,
    reads,
    writes,
    concurrency: 32,
    timeoutMs: 60_000,

    async reconcile(db, ctx) {
      const memory = memories.of(db.metadata.uid);
      const access = await keepPasswords(db, ctx, memory);
      const certificates = await keepCertificates(db, ctx, memory);
      const presented = tlsSecretName(databaseName(db), db.spec);
      const trial = db.spec.paused ? undefined : await keepTrial(db, ctx);
      const complete = presented === undefined || certificates.get(presented)?.fingerprint !== undefined;
      const tried = trial === undefined && complete;
      let refused: Awaited<ReturnType<typeof applyServers>> = {};
      if (!db.spec.paused) {
        await applyObjects(db, ctx, { access, tried });
        refused = await applyServers(db, ctx, { tried });
      }
      await using gathered = await observe(db, ctx, { dial, access, memory, certificates, trial });
      const { observed } = gathered;
      const plan = await stillAsked(db, ctx, choose(observed));
      const backups = await keepBackups(db, ctx);
      ctx.setStatus({ ...withVersion(db, statusOf(observed, plan)), ...backups, ...refused });
      for (const condition of conditionsOf(observed, plan)) ctx.setCondition(condition);
      for (const { type, reason, message } of plan.events ?? []) ctx.event(type, reason, message);
      const problems = await act({ db, ctx, gathered }, plan.actions ?? []);
      await openWrites({ db, ctx, gathered }, plan);
      if (db.spec.paused || plan.dropped) return outcomeOf(plan, problems);
      await reloadCertificates(certificates, ctx, { gathered, memory });
      await protectVolumes(db, ctx, memory);
      const told = await tellServers(db, ctx, { gathered, access, memory });
      const serving = healthyPrimary(observed)?.server;
      if (told.users && access.application !== "" && serving?.pod?.tls === presented) {
        const authority = authorityFor(presented, certificates, gathered);
        await ctx.own.binding.apply(
          bindingSecret(databaseName(db), { password: access.application, authority }),
        );
      }
      if (
        !plan.notReady &&
        !(await canLogIn(db, ctx, { dial, access, memory, certificates, trial, observed }))
      )
        return waiting(reasons.initializing, `the application cannot log in to ${serving?.name} yet`, {
          recheckMs: 500,
        });
      if (access.endsInMs !== undefined) ctx.recheck(access.endsInMs);
      // A spec that cannot be followed is no reason to look away from the servers.
      ctx.recheck(restMs);
      if (told.problem !== undefined && !plan.notReady) return fail(reasons.settingRefused, told.problem);
      return outcomeOf(plan, problems);
    },

    async finalize(db, ctx) {
      const outcome = await finalize(db, ctx, {
        dial,
        certificates: await keepCertificates(db, ctx, memories.of(db.metadata.uid)),
      });
      if (outcome.outcome === "done") memories.forget(db.metadata.uid);
      return outcome;
    },
  });
}

/** Ready means that an application gets in: asked once for each process and password. */
async function canLogIn(
  db: SampleDBObject,
  ctx: SampleDBContext,
  options: ObserveOptions & { readonly observed: Observed },
): Promise<boolean> {
  const { dial, access, memory, certificates, observed } = options;
  const primary = healthyPrimary(observed);
  if (!primary) return false;
  const seen = `${primary.facts.runId} ${hash("sha256", access.application)}`;
  if (memory.loggedIn === seen) return true;
  const { namespace } = databaseName(db);
  try {
    await using connection = await ctx.connect({ pod: { namespace, name: primary.server.name } }, redisPort);
    const { host, port } = connection;
    const credentials = { username: "default", password: access.application };
    const tls = trustOf(certificates, primary.server.pod?.tls);
    await using redis = await dial({ host, port, ...(tls && { tls }) }, credentials, ctx.signal);
    await redis.call(["PING"]);
    memory.loggedIn = seen;
    return true;
  } catch (error) {
    if (error instanceof RedisError) return false;
    throw error;
  }
}

/** The version that pods are made with is the spec's until there is a database; then an upgrade changes it. */
function withVersion({ spec }: SampleDBObject, status: ReturnType<typeof statusOf>) {
  return { ...status, imageVersion: status.imageVersion ?? spec.version };
}

function outcomeOf({ notReady }: Plan, problems: readonly string[]): Outcome {
  if (!notReady) return done({ recheckMs: restMs });
  const { state, reason, message, recheckMs } = notReady;
  if (state === "failed") return fail(reason, message);
  const words = problems.length > 0 ? `${message} (${problems.join("; ")})` : message;
  return waiting(reason, words, {
    recheckMs: problems.length > 0 ? 200 : Math.min(recheckMs ?? restMs, restMs),
  });
}
