/**
 * A newer version: a backup, a rehearsal on it, replicas first, then the primary. Clients cannot write from the switch
 * until what it led to was verified; until then everything can go back. Pure.
 */
import { reasons } from "../api/conditions.ts";
import type { ServerFacts } from "../engine/info.ts";
import { changeProblem, compareVersions, minorOf } from "../engine/version.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { ownId } from "../resources/names.ts";
import {
  conditionOf,
  healthyPrimary,
  isEmpty,
  isInSync,
  nextEpoch,
  serverNamed,
  wantedServers,
} from "./facts.ts";
import { type Action, type Plan, waitingFor } from "./plan.ts";
import { promised } from "./promise.ts";
import { isDamaged } from "./repair.ts";
import { isOutdated } from "./rollout.ts";

type Under = NonNullable<Observed["status"]["upgrade"]>;

/** How long the new version may take to come up before the old one is brought back. */
const startMs = 120_000;

export function upgrade(o: Observed): Plan {
  const plan = next(o);
  const keys = rehearsalsToDelete(o);
  return keys.length === 0
    ? plan
    : { ...plan, actions: [...(plan.actions ?? []), { do: "deleteJobs", keys }] };
}

/**
 * Rehearsals that nobody reads any more, also of a database of this name from before. The pod of a Job keeps the claim of
 * the store, also when it has ended: a claim that is deleted would not go, and no backup could begin.
 */
function rehearsalsToDelete({ jobs, status: { upgrade: under } }: Observed): readonly string[] {
  const read = under?.phase === "Rehearsing" ? rehearsalKey(under) : undefined;
  return jobs.flatMap(({ key }) => (key.startsWith(rehearsalPrefix) && key !== read ? [key] : []));
}

const rehearsalPrefix = "rehearse-";

function rehearsalKey({ id }: Under): string {
  return `${rehearsalPrefix}${id}`;
}

function next(o: Observed): Plan {
  const under = o.status.upgrade;
  const later = laterVersion(o);
  if (later !== undefined) return alreadyRuns(o, later);
  if (!under) return begin(o);
  // The switch has happened, and leadership records it in this pass.
  if (switchedOver(o)) return {};
  if (o.spec.version !== under.to && !under.pointOfNoReturn && under.phase !== "GoingBack")
    return takenBack(o, under);
  switch (under.phase) {
    case "BackingUp":
      return backingUp(o, under);
    case "Rehearsing":
      return rehearsing(o, under);
    case "Replicas":
      return replicas(o, under);
    case "Switching":
      return switching(o, under);
    case "Verifying":
      return verifying(o, under);
    case "Finishing":
      return finishing(o, under);
    case "GoingBack":
      return goingBack(o, under);
  }
}

/**
 * The status is of an earlier time, as after a restore of the API server: the primary runs a newer version than it says.
 * Servers of the older one could not copy it.
 */
function laterVersion({ status, ...o }: Observed): string | undefined {
  const phase = status.upgrade?.phase;
  if (phase !== undefined && phase !== "BackingUp" && phase !== "Rehearsing") return undefined;
  const primary = healthyPrimary({ ...o, status });
  const version = primary && minorOf(primary.facts.version);
  if (version === undefined || status.imageVersion === undefined) return undefined;
  return compareVersions(version, status.imageVersion) > 0 ? version : undefined;
}

function alreadyRuns({ status }: Observed, version: string): Plan {
  const message = `the primary ${status.primary} runs Redis ${version} already`;
  return {
    status: { imageVersion: version, upgrade: undefined },
    events: [{ type: "Normal", reason: reasons.upgrading, message }],
    notReady: waitingFor(reasons.upgrading, message, 0),
  };
}

function begin(o: Observed): Plan {
  const from = o.status.imageVersion ?? o.spec.version;
  const to = o.spec.version;
  if (from === to || changeProblem(from, to) !== undefined || !o.status.leadership) return {};
  const failed = o.status.failedUpgrade;
  if (failed?.to === to && failed.generation === o.generation) {
    const message = `the upgrade to Redis ${to} failed and ${from} runs on: ${failed.message}; change the spec to try again`;
    return { notReady: { state: "failed", reason: reasons.upgradeFailed, message } };
  }
  if (!isWell(o))
    return {
      notReady: waitingFor(
        reasons.upgrading,
        `the upgrade to Redis ${to} begins when every server is in sync: ${unwellWords(o)}`,
      ),
    };
  // What an earlier attempt left behind, of which a status that was lost says nothing, is not taken for its own.
  const began = Math.floor(o.nowMs / 1_000).toString(36);
  const id = `${to.replace(".", "-")}-${began}-${o.generation}`;
  return {
    status: {
      upgrade: { from, to, id, phase: "BackingUp", pointOfNoReturn: false, since: at(o) },
      failedUpgrade: undefined,
    },
    events: [{ type: "Normal", reason: reasons.upgrading, message: `from Redis ${from} to ${to}` }],
    notReady: waitingFor(reasons.upgrading, `Redis ${from} is upgraded to ${to}`, 0),
  };
}

/** The spec asks for another version, and no client has written to this one yet. */
function takenBack(o: Observed, under: Under): Plan {
  const message = `spec.version is ${o.spec.version} now`;
  if (under.phase !== "BackingUp" && under.phase !== "Rehearsing") return goBack(o, under, message);
  return {
    status: { upgrade: undefined },
    events: [
      {
        type: "Normal",
        reason: reasons.upgrading,
        message: `the upgrade to ${under.to} is given up: ${message}`,
      },
    ],
    notReady: waitingFor(reasons.upgrading, `the upgrade to Redis ${under.to} is given up: ${message}`, 0),
  };
}

/** Backups outlive their database, and one of the same name takes them over: its own have its id. */
function backupKey(o: Observed, under: Under): string {
  return `upgrade-${under.id}-${ownId(o.database)}`;
}

function backingUp(o: Observed, under: Under): Plan {
  const key = backupKey(o, under);
  const backup = o.backups.get(key);
  const name = `${o.database.name}-before-${under.id}-${ownId(o.database)}`;
  const notReady = waitingFor(reasons.upgrading, `the backup ${name} is taken before the upgrade`, 2_000);
  if (!backup) return { actions: [{ do: "startBackup", key, name }], notReady };
  if (backup.phase === "Failed") return giveUp(under, `its backup failed: ${backup.message}`);
  return backup.phase === "Done" ? phase(o, under, "Rehearsing", "the upgrade is rehearsed") : { notReady };
}

function rehearsing(o: Observed, under: Under): Plan {
  const key = rehearsalKey(under);
  const job = o.jobs.find((each) => each.key === key);
  const message = `Redis ${under.to} loads the backup, on trial, in Job ${o.database.name}-${key}`;
  const notReady = waitingFor(reasons.upgrading, message, 2_000);
  if (!job) {
    const backup = backupKey(o, under);
    return { actions: [{ do: "startRehearsal", id: under.id, backup, version: under.to }], notReady };
  }
  if (job.state === "failed") return giveUp(under, `the rehearsal failed: ${job.message}`);
  if (job.state === "running") return { notReady };
  return phase(o, under, "Replicas", `Redis ${under.to} can load the data`, { imageVersion: under.to });
}

/** The rollout replaces them, one after the other; one may come in addition for the upgrade. This waits. */
function replicas(o: Observed, under: Under): Plan {
  const primary = healthyPrimary(o);
  const notReady = waitingFor(
    reasons.upgrading,
    `replicas are upgraded first: ${outdatedWords(o, under)}`,
    300,
  );
  const stuck = o.servers.find(({ pod }) => pod?.obstacle !== undefined && pod.template === o.setTemplate);
  if (stuck && isOverdue(o, under))
    return goBack(o, under, `${stuck.name} does not start: ${stuck.pod?.obstacle}`);
  if (o.trial?.state === "failed" && isOverdue(o, under)) return goBack(o, under, o.trial.message);
  if (!primary || o.setTemplate !== o.wantedTemplate) return { notReady };
  // A failover chose a server of the new version, and clients have written to it: nothing leads back from here.
  if (runs(primary.server, under.to)) {
    const message = `a failover chose ${primary.server.name}, which runs Redis ${under.to}`;
    const events = [{ type: "Normal", reason: "PointOfNoReturn", message } as const];
    return { ...phase(o, under, "Finishing", message, {}, { pointOfNoReturn: true }), events };
  }
  const ready = o.servers.filter((server) => server !== primary.server && server.ordinal < wantedServers(o));
  const done = ready.every(
    (server) =>
      !isOutdated(o, server) &&
      runs(server, under.to) &&
      isInSync(server, primary) &&
      // Its volume does not hold what it was given before that ends.
      !factsOf(server)?.rewriting,
  );
  const [candidate] = ready.sort((a, b) => a.ordinal - b.ordinal);
  const runId = candidate && factsOf(candidate)?.runId;
  if (!done || !candidate || runId === undefined) return { notReady };
  const choice = { held: primary.server.name, candidate: { server: candidate.name, runId } };
  return phase(o, under, "Switching", "every replica runs the new version", {}, choice);
}

/** The replicas that do not run the new version, or do not follow the primary yet, with what keeps them. */
function outdatedWords(o: Observed, under: Under): string {
  const primary = healthyPrimary(o);
  if (!primary) return `the primary ${o.status.primary} does not serve`;
  const replicas = o.servers.filter(
    (server) => server.name !== o.status.primary && server.ordinal < wantedServers(o),
  );
  const left = replicas.filter((server) => !runs(server, under.to));
  if (left.length > 0)
    return left
      .map(({ name, nodeLost }) => (nodeLost ? `${name} (its node does not report)` : name))
      .join(", ");
  const words = replicas.map((server) => {
    if (!isInSync(server, primary)) return `${server.name} (${conditionOf(server)})`;
    return factsOf(server)?.rewriting ? `${server.name} (it writes its data to its volume)` : server.name;
  });
  return `all run the new version, and ${words.join(", ")} must be in sync with the primary ${primary.server.name}`;
}

function switching(o: Observed, under: Under): Plan {
  const { held, candidate } = under;
  const message = `${held} makes way for ${candidate?.server}; no writes until that is verified`;
  const notReady = waitingFor(reasons.upgrading, message, 50);
  if (held === undefined || !candidate) return phase(o, under, "Replicas", "nobody was chosen to lead");
  const primary = healthyPrimary(o);
  // A failover chose another one of the new version. It takes no writes yet, and is verified as the candidate would be.
  if (primary && runs(primary.server, under.to)) {
    const chosen = { server: primary.server.name, runId: primary.facts.runId };
    return phase(o, under, "Verifying", `a failover chose ${chosen.server}`, {}, { candidate: chosen });
  }
  if (primary?.server.name !== held)
    return isOverdue(o, under) ? goBack(o, under, "the primary did not change") : { notReady };
  const target = serverNamed(o, candidate.server);
  if (!target || factsOf(target)?.runId !== candidate.runId || !isInSync(target, primary))
    return phase(
      o,
      under,
      "Replicas",
      `${candidate.server} is not in sync any more`,
      {},
      { held: undefined, candidate: undefined },
    );
  const action = {
    do: "switchOver",
    from: held,
    to: candidate.server,
    runId: candidate.runId,
    open: o.migrationsDue === 0,
  } as const;
  return { actions: [action], notReady: { ...notReady, recheckMs: 0 } };
}

/** The replica of the new version leads, though that was not recorded yet. */
export function switchedOver(o: Observed): Plan | undefined {
  const under = o.status.upgrade;
  const server = serverNamed(o, under?.candidate?.server);
  const facts = server && factsOf(server);
  if (under?.phase !== "Switching" || !server?.pod || !server.claim || facts?.role !== "primary")
    return undefined;
  if (facts.runId !== under.candidate?.runId) return undefined;
  const isOpen = facts.guard < closedGuard;
  const isVerified =
    o.migrationsDue === 0 && (isOpen || problemOf(o, under, { server, facts }) === undefined);
  const { runId, replicationId } = facts;
  return {
    status: {
      primary: server.name,
      epoch: nextEpoch(o),
      leadership: {
        runId,
        podUid: server.pod.uid,
        claimUid: server.claim.uid,
        replicationId,
        guard: 0,
        promise: promised(o),
        followers: [],
      },
      upgrade: {
        ...under,
        phase: isVerified ? "Finishing" : "Verifying",
        pointOfNoReturn: isVerified,
        since: at(o),
      },
    },
    ...(isVerified && { opens: server.name, events: [verified(under)] }),
    notReady: waitingFor(reasons.upgrading, `${server.name} leads with Redis ${under.to}`, 0),
  };
}

function verified({ to }: Under) {
  return {
    type: "Normal",
    reason: "PointOfNoReturn",
    message: `Redis ${to} is verified and takes writes`,
  } as const;
}

/**
 * A server of the new version takes no writes but those of the migrations. Clients would read what these have half done,
 * so the Services do not lead there before they have ended.
 */
export function isHidden(o: Observed, server: Server): boolean {
  const under = o.status.upgrade;
  if (!under || under.pointOfNoReturn || o.migrationsDue === 0) return false;
  return (under.phase === "Switching" || under.phase === "Verifying") && runs(server, under.to);
}

/** With fewer replicas than this a primary takes no writes: more than there can be. */
export const closedGuard = 99;

function verifying(o: Observed, under: Under): Plan {
  const primary = healthyPrimary(o);
  const job = o.migrationsDue > 0 ? `, by Job ${o.database.name}-migrate-${under.id}` : "";
  const message = `no writes: ${o.status.primary} with Redis ${under.to} is verified${job}`;
  const notReady = waitingFor(reasons.upgrading, message, 50);
  if (!primary)
    return isOverdue(o, under) ? goBack(o, under, "the new primary does not answer") : { notReady };
  const { facts } = primary;
  const problem = problemOf(o, under, primary);
  if (problem !== undefined) return goBack(o, under, problem);
  if (o.migrationsDue > 0) {
    const migrations = o.jobs.find(({ key }) => key === `migrate-${under.id}`);
    // An operator of before opened it for the Job.
    if (facts.guard < closedGuard)
      return {
        actions: [{ do: "setGuard", server: primary.server.name, guard: closedGuard }],
        notReady: { ...notReady, recheckMs: 0 },
      };
    if (!migrations)
      return {
        actions: [{ do: "startMigrations", id: under.id, server: primary.server.name }],
        notReady: { ...notReady, recheckMs: 1_000 },
      };
    if (migrations.state === "failed") return goBack(o, under, `a migration failed: ${migrations.message}`);
    if (migrations.state === "running") return { notReady: { ...notReady, recheckMs: 1_000 } };
  }
  const words = "verified; from here on only a restore leads back to the old version";
  return {
    ...phase(o, under, "Finishing", words, {}, { pointOfNoReturn: true }),
    // What clients write is not gone back from.
    opens: primary.server.name,
    events: [verified(under)],
  };
}

/** Why the new version cannot go on as the primary, as a sentence. */
function problemOf(
  o: Observed,
  under: Under,
  { server, facts }: { readonly server: Server; readonly facts: ServerFacts },
): string | undefined {
  if (!runs(server, under.to)) return `the primary runs ${facts.version}`;
  // The old primary is as it was when writes ended; keys may have expired since, and migrations may have made some.
  const before = o.migrationsDue > 0 ? undefined : keysOf(serverNamed(o, under.held));
  if (before !== undefined && (facts.keys > before || (facts.keys === 0 && before > 0)))
    return `there were ${before} keys, and the new version has ${facts.keys}`;
  return facts.persistenceFailed ? "the new version cannot write to its volume" : undefined;
}

/** The old primary is replaced by the rollout, as any outdated pod. */
function finishing(o: Observed, under: Under): Plan {
  const done = isWell(o) && o.servers.every((server) => runs(server, under.to));
  if (!done) {
    const message = `the other servers follow to Redis ${under.to}: ${unwellWords(o, under.to)}`;
    return { notReady: waitingFor(reasons.upgrading, message, 500) };
  }
  return {
    status: { upgrade: undefined },
    events: [{ type: "Normal", reason: "Upgraded", message: `every server runs Redis ${under.to}` }],
    notReady: waitingFor(reasons.upgrading, "the upgrade is complete", 0),
  };
}

/** The old primary leads again; the others start empty and copy it. */
function goingBack(o: Observed, under: Under): Plan {
  const notReady = waitingFor(
    reasons.upgrading,
    `Redis ${under.from} is brought back: ${under.message}; ${backWords(o, under)}`,
    300,
  );
  const held = serverNamed(o, under.held);
  const facts = held && factsOf(held);
  const primary = healthyPrimary(o);
  if (primary && runs(primary.server, under.to) && nothingLeadsBack(o)) {
    const message = `the data of ${under.held} is lost, and ${primary.server.name} has it with Redis ${under.to}`;
    const forward = { pointOfNoReturn: true, candidate: undefined };
    return {
      ...phase(o, under, "Finishing", message, { imageVersion: under.to }, forward),
      events: [{ type: "Warning", reason: "PointOfNoReturn", message }],
    };
  }
  if (!primary || !runs(primary.server, under.from)) {
    // Before the switch, and when the old version leads again, a primary that is lost is replaced as at any time.
    // After it, a failover may have put another server in the candidate's place.
    const switched = under.candidate !== undefined && o.status.primary !== under.held;
    if (held && isOutdated(o, held) && !runs(held, under.from) && o.setTemplate === o.wantedTemplate)
      return { actions: [backTo(under, held)], notReady };
    // Nobody is made the primary who has nothing: the one of the new version is awaited, or replaced by another.
    if (nothingLeadsBack(o)) return { notReady };
    if (!switched || o.status.promotion || !facts || !held?.pod || !held.claim) return { notReady };
    const promotion = {
      server: held.name,
      runId: facts.runId,
      podUid: held.pod.uid,
      claimUid: held.claim.uid,
      epoch: nextEpoch(o),
      why: "the upgrade goes back",
      loss: "nothing",
    };
    return { status: { promotion }, notReady: { ...notReady, recheckMs: 0 } };
  }
  if (under.candidate || primary.facts.guard >= closedGuard)
    return {
      actions: [{ do: "resume", server: primary.server.name }],
      status: { upgrade: { ...under, candidate: undefined } },
      notReady,
    };
  // Whether they follow is not asked: a spec that changed meanwhile may keep them apart until it is rolled out.
  const old = o.servers.every((server) => server.ordinal >= wantedServers(o) || runs(server, under.from));
  if (!old) {
    const wrong = o.servers.find(
      (server) => server.pod && !server.pod.deleting && server !== held && isOutdated(o, server),
    );
    if (wrong && o.setTemplate === o.wantedTemplate) {
      return { actions: [backTo(under, wrong)], notReady };
    }
    return { notReady };
  }
  return {
    status: {
      upgrade: undefined,
      failedUpgrade: { to: under.to, generation: begunAt(under), message: under.message ?? "" },
    },
    events: [
      {
        type: "Warning",
        reason: reasons.upgradeFailed,
        message: `Redis ${under.from} runs on: ${under.message}`,
      },
    ],
    notReady,
  };
}

/** Who must lead again, and who must follow it, with what keeps them. */
function backWords(o: Observed, under: Under): string {
  const held = serverNamed(o, under.held);
  const primary = healthyPrimary(o);
  if (!primary || !runs(primary.server, under.from))
    return `${under.held} must lead again${held && !factsOf(held) ? ` (${conditionOf(held)})` : ""}`;
  const left = o.servers.filter((server) => server.ordinal < wantedServers(o) && !runs(server, under.from));
  return left.length === 0
    ? `${primary.server.name} leads again`
    : `${left.map((server) => `${server.name} (${conditionOf(server)})`).join(", ")} must follow ${primary.server.name}`;
}

/** What an upgrade goes back to is not there any more: then the new version has the only data. */
export function nothingLeadsBack(o: Observed): boolean {
  const { upgrade: under } = o.status;
  if (under?.phase !== "GoingBack") return false;
  const held = serverNamed(o, under.held);
  if (!held?.claim || held.claim.lost || held.claim.epoch === 0 || isDamaged(held)) return true;
  return isEmpty(held);
}

/** Its pod is made again, with the old version. */
function backTo({ from }: Under, { name, pod }: Server): Action {
  return { do: "deletePod", server: name, uid: pod?.uid ?? "", why: `it goes back to Redis ${from}` };
}

function goBack(o: Observed, under: Under, message: string): Plan {
  // Before the switch the old primary leads still.
  const held = under.held ?? o.status.primary;
  return {
    status: {
      upgrade: {
        ...under,
        phase: "GoingBack",
        since: at(o),
        message,
        ...(held === undefined ? {} : { held }),
      },
      imageVersion: under.from,
      promotion: undefined,
    },
    events: [{ type: "Warning", reason: reasons.upgradeFailed, message: `it goes back: ${message}` }],
    notReady: waitingFor(reasons.upgrading, `Redis ${under.from} is brought back: ${message}`, 0),
  };
}

/** The generation of the spec that it began with: a correction that came meanwhile is tried. */
function begunAt({ id }: Under): number {
  return Number(id.split("-").at(-1));
}

/** Nothing was touched yet. */
function giveUp(under: Under, message: string): Plan {
  return {
    status: { upgrade: undefined, failedUpgrade: { to: under.to, generation: begunAt(under), message } },
    events: [{ type: "Warning", reason: reasons.upgradeFailed, message }],
    notReady: waitingFor(reasons.upgrading, message, 0),
  };
}

function phase(
  o: Observed,
  under: Under,
  next: Under["phase"],
  message: string,
  status: Plan["status"] = {},
  more: Partial<Under> = {},
): Plan {
  return {
    status: { ...status, upgrade: { ...under, ...more, phase: next, since: at(o) } },
    notReady: waitingFor(reasons.upgrading, message, 0),
  };
}

function isOverdue(o: Observed, under: Under): boolean {
  return o.nowMs - Date.parse(under.since) > startMs;
}

function keysOf(server: Server | undefined): number | undefined {
  return server && factsOf(server)?.keys;
}

function runs(server: Server, version: string): boolean {
  return minorOf(factsOf(server)?.version ?? "") === version;
}

/** What keeps it from being well, and from running a version. */
function unwellWords(o: Observed, version?: string): string {
  const primary = healthyPrimary(o);
  if (!primary) return `the primary ${o.status.primary} does not serve`;
  const words = o.servers.flatMap((server) => {
    const { name } = server;
    if (version !== undefined && !runs(server, version)) return `${name} (it does not run Redis ${version})`;
    if (server === primary.server) return [];
    if (server.ordinal >= wantedServers(o)) return `${name} (it is one too many)`;
    return isInSync(server, primary) ? [] : `${name} (${conditionOf(server)})`;
  });
  return words.length > 0 ? words.join(", ") : primary.server.name;
}

/** A primary leads, and everyone who should follows it. */
function isWell(o: Observed): boolean {
  const primary = healthyPrimary(o);
  return (
    primary !== undefined &&
    o.servers.every(
      (server) =>
        server === primary.server || (server.ordinal < wantedServers(o) && isInSync(server, primary)),
    )
  );
}

function at(o: Observed): string {
  return new Date(o.nowMs).toISOString();
}
