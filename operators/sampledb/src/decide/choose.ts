/** Which server becomes the primary, when the one before has stopped. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Leadership } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import { leaderOf } from "../engine/leader.ts";
import { minorOf } from "../engine/version.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { lastOf } from "../observe/restores.ts";
import {
  conditionOf,
  followsPrimary,
  isEmpty,
  isReplaced,
  isUnattached,
  nextEpoch,
  serverNamed,
  wantedServers,
} from "./facts.ts";
import { isKnown, isOpen, showLater } from "./lineage.ts";
import { approvedByPerson, type Plan, waitingFor } from "./plan.ts";
import { promised } from "./promise.ts";
import { isDamaged } from "./repair.ts";
import { nothingLeadsBack } from "./upgrade.ts";

type Candidate = Server & {
  readonly pod: NonNullable<Server["pod"]>;
  readonly claim: NonNullable<Server["claim"]>;
  readonly facts: ServerFacts;
};

export function choose(o: Observed, why: string): Plan {
  const { leadership } = o.status;
  if (!leadership) return firstChoice(o);
  const all = candidates(o);
  const alive = all.filter(({ facts }) => isComparable(facts, leadership));
  const after = all.filter(({ facts }) => wentOn(o, facts, leadership));
  // Until their links are down their offsets may still grow.
  const linked = alive.filter(({ facts }) => facts.role === "replica" && facts.linkUp);
  if (linked.length > 0) {
    return {
      actions: [{ do: "detach", servers: linked.map(({ name }) => name) }],
      notReady: waitingFor(reasons.promoting, "the replicas' positions are compared", 20),
    };
  }
  const outdated = outdatedStatus(o, all, why);
  if (outdated) return outdated;
  const handed = handedOver(o, all, after);
  if (handed === "unknown") return allLost(o, all) ?? awaitTarget(o, leadership, alive, why);
  if (handed) return promote(o, handed, `${why} while it handed over`, "nothing");
  const best = mostAdvanced(alive);
  const itself = alive.find(
    ({ name, facts }) => name === o.status.primary && facts.runId === leadership.runId,
  );
  if (itself) return promote(o, itself, `${why}, and its own process has all data`, "nothing");
  if (best && enough(o, alive, leadership)) return promote(o, best, why, boundOf(o));
  const restarted = all.find(
    (server) =>
      server.name === o.status.primary &&
      server.claim.uid === leadership.claimUid &&
      server.claim.epoch === o.status.epoch &&
      // One that was told to follow another has that one's data, however much of it.
      (server.facts.role === "primary" || isUnattached(server.facts)) &&
      !isEmpty(server) &&
      !isReplaced(server) &&
      !isHollow(server.facts, all),
  );
  if (restarted) {
    const loss = "nothing that its append-only file holds (see appendfsync)";
    return promote(o, restarted, `${why}, and it is back with its data`, loss);
  }
  const complete = restartedFollower(o, all, leadership);
  if (complete)
    return promote(o, complete, `${why}, and every replica has all that WAIT acknowledged`, boundOf(o));
  const approved = all.find((server) => server.name === o.approvedLoss && !isEmpty(server));
  if (approved) return promote(o, approved, `${why}, and a person approved the loss`, approvedByPerson);
  return allLost(o, all) ?? awaitOthers(o, leadership, alive, why);
}

/** Nobody has data any more, and nobody can come back with it. */
function allLost(o: Observed, all: readonly Candidate[]): Plan | undefined {
  // One that is too many and never had a whole copy is not started again: it goes when somebody leads.
  const able = o.servers.filter(
    ({ ordinal, pod, claim }) => ordinal < wantedServers(o) || pod || claim?.epoch !== undefined,
  );
  const words = able.map((server) => {
    if (isDamaged(server)) return `${server.name}: ${server.pod?.obstacle}`;
    const empty = all.some(({ name }) => name === server.name) && isEmpty(server);
    return empty || server.claim?.lost || server.claim?.epoch === 0
      ? `${server.name}: its volume is empty`
      : undefined;
  });
  if (words.length === 0 || words.includes(undefined)) return undefined;
  // Otherwise the volumes stay, and with them what cannot be read.
  const first = o.spec.onDelete === "Delete" ? "" : "set spec.onDelete to Delete, ";
  // A restore in place begins when an upgrade has ended, and this one cannot.
  const restore = o.status.upgrade ? "" : "restore a backup with spec.restoreFrom, or ";
  const message = `no server has data that can be read (${words.join("; ")}); ${restore}${first}delete the database and make it again`;
  return { notReady: waitingFor(reasons.dataLost, message, 5_000) };
}

/**
 * A handover was under way, and its target may have led, but took no writes: its claim does not say so. Who has gone on
 * from the old history has everything. Where its claim is gone nobody can tell.
 */
function handedOver(
  o: Observed,
  all: readonly Candidate[],
  after: readonly Candidate[],
): Candidate | "unknown" | undefined {
  const { handover } = o.status;
  if (!handover || o.approvedLoss !== undefined) return undefined;
  const best = mostAdvanced(after);
  if (best) return best;
  const { claim } = serverNamed(o, handover.to) ?? {};
  const isTold = handover.target !== undefined && claim?.uid === handover.target.claimUid;
  return isTold || all.some(({ name }) => name === handover.to) ? undefined : "unknown";
}

/** It has gone on from the recorded history, by a handover that was not recorded. */
function wentOn({ status }: Observed, facts: ServerFacts, { replicationId }: Leadership): boolean {
  if (!status.handover) return false;
  return facts.secondReplicationId === replicationId && facts.replicationId !== replicationId;
}

function awaitTarget(o: Observed, leadership: Leadership, alive: readonly Candidate[], why: string): Plan {
  const { to = "" } = o.status.handover ?? {};
  const message = `${why} while it handed over to ${to}, which must be asked whether it took over`;
  return awaitServers(o, [to, ...leadership.followers], `${message}${insteadOf(o, alive)}`);
}

/** No primary was ever recorded: the first one, or one that is found. */
export function firstChoice(o: Observed): Plan {
  // No server is made for a spec that is refused, which is what a person must hear.
  if (o.specProblem && o.setReplicas === undefined) return {};
  const all = candidates(o);
  const leading = all.filter((server) => server.facts.role === "primary" && !isOutlived(server, all, o));
  // One that was closed has made way for another, which may have taken writes since.
  const open = leading.filter(({ facts }) => isOpen(facts));
  const [only] = open.length > 0 ? open : leading;
  if (only && (open.length === 1 || leading.length === 1)) return adopt(o, only);
  const marked = o.servers.filter(({ claim }) => claim?.epoch !== undefined);
  if (marked.length === 0) {
    const first = all.find(({ ordinal }) => ordinal === 0);
    if (first) return promote(o, first, "it is the first", "nothing");
    return { notReady: waitingFor(reasons.creating, progress(o), 500) };
  }
  const epoch = Math.max(...marked.map(({ claim }) => claim?.epoch ?? 0));
  const primary = all.find(
    (server) =>
      epoch > 0 &&
      server.claim.primaryEpoch === epoch &&
      !isEmpty(server) &&
      !isReplaced(server) &&
      (!isHollow(server.facts, all) || wasFilledWithNothing(o, server)),
  );
  if (primary) return promote(o, primary, "its volume has the newest data", "nothing");
  const approved = all.find((server) => server.name === o.approvedLoss && !isEmpty(server));
  if (approved) return promote(o, approved, "a person approved the loss", approvedByPerson);
  return allLost(o, all) ?? { notReady: waitingFor(reasons.creating, withoutPrimary(o, all, marked), 500) };
}

/** It was replaced, and does not know it: another volume has data of a later epoch, whose server does not follow it. */
function isOutlived(server: Candidate, all: readonly Candidate[], { servers }: Observed): boolean {
  const newest = Math.max(0, ...servers.map(({ claim }) => claim?.epoch ?? 0));
  if ((server.claim.epoch ?? 0) >= newest) return false;
  return !all.some(
    ({ claim, facts }) => claim.epoch === newest && facts.linkUp && followsPrimary(facts, server),
  );
}

/** While a volume with data has not been asked, it may be that of the primary. One that is damaged cannot be asked. */
function withoutPrimary(o: Observed, all: readonly Candidate[], marked: readonly Server[]): string {
  const filled = marked.filter(({ claim }) => claim?.epoch !== 0);
  const text = `volumes with data of an earlier time are there (${filled.map(({ name }) => name).join(", ")})`;
  const silent = filled.filter(
    (server) => !server.claim?.lost && !isDamaged(server) && !all.some((each) => each.name === server.name),
  );
  if (silent.length > 0) {
    const words = silent.map((server) => `${server.name} (${conditionOf(server)})`).join(", ");
    return `${text}; the one of its primary is awaited, which may be that of ${words}`;
  }
  const [best] = all
    .filter((server) => !isEmpty(server) && !isHollow(server.facts, all))
    .sort((a, b) => (b.claim.epoch ?? 0) - (a.claim.epoch ?? 0) || a.ordinal - b.ordinal);
  return `${text}, and that of its primary is not among them${best ? wayOut(o, best) : ""}`;
}

function wayOut({ status }: Observed, { name }: Server): string {
  return `; to go on with ${name} in spite of that, set the annotation sampledb.keelson.dev/approve-loss to ${name}@${status.epoch ?? 0}`;
}

/**
 * The status is of an earlier time, as after a restore of the API server: a primary leads that was made since. Servers start
 * as replicas, so somebody promoted it; and it went on from the history that is recorded, or the recorded one follows it, or
 * it has a history that was never recorded. One that takes no writes was given up before it did.
 */
export function laterPrimary(o: Observed, leadership: Leadership): Plan | undefined {
  const { runId, replicationId } = leadership;
  const recorded = serverNamed(o, o.status.primary);
  const its = recorded && factsOf(recorded);
  const all = candidates(o);
  const later = all.filter(
    (server) =>
      server.facts.role === "primary" &&
      server.facts.runId !== runId &&
      isOpen(server.facts) &&
      (server.facts.secondReplicationId === replicationId ||
        (its?.linkUp && followsPrimary(its, server)) ||
        (isKnown(leadership, server.facts.replicationId) === false && !isOutlived(server, all, o))),
  );
  const only = leaderOf(later);
  return only && adopt(o, only);
}

/**
 * Somebody has led since the status was written, and does not lead now, or is not reached: nobody is promoted before that
 * one was asked, since the last one of the status may be back with all that it had, and not with what was written since.
 */
function outdatedStatus(o: Observed, all: readonly Candidate[], why: string): Plan | undefined {
  const { leadership } = o.status;
  if (!leadership) return undefined;
  const shown = showLater(o, leadership).filter((server) => {
    const facts = factsOf(server);
    return !facts || !(isAbandoned(o, facts) || wentOn(o, facts, leadership));
  });
  if (shown.length === 0) return undefined;
  const approved = all.find((server) => server.name === o.approvedLoss && !isEmpty(server));
  if (approved) return promote(o, approved, `${why}, and a person approved the loss`, approvedByPerson);
  const absent = o.servers.filter(
    (server) => !all.some(({ name }) => name === server.name) && !isDamaged(server) && !server.claim?.lost,
  );
  const names = shown.map(({ name }) => name);
  const rest = absent.map(({ name }) => name).join(" or ");
  const lacking = rest === "" ? "and that one's data is not found" : `until ${rest} can be asked`;
  const best = mostAdvanced(all.filter(({ name }) => names.includes(name)));
  const message = `${why}, and ${names.join(", ")} shows that another server led after it; promoting one could lose acknowledged writes ${lacking}`;
  return (
    allLost(o, all) ??
    awaitServers(
      o,
      absent.map(({ name }) => name),
      `${message}${best ? wayOut(o, best) : insteadOf(o, [])}`,
    )
  );
}

/** The choice that is recorded is of an earlier time: somebody has led since. */
export function outdatedChoice(o: Observed, name: string): Plan | undefined {
  const { leadership } = o.status;
  if (!leadership || o.approvedLoss === name) return undefined;
  return laterPrimary(o, leadership) ?? outdatedStatus(o, candidates(o), `${name} was chosen`);
}

/**
 * It has no keys, and others have some. A volume that was lost looks like data once a process has started on it, and nobody
 * may have seen that: a person knows whether everything was deleted.
 */
function isHollow({ keys }: ServerFacts, all: readonly Candidate[]): boolean {
  return keys === 0 && all.some(({ facts }) => facts.keys > 0);
}

/** A restore has just filled its volume, from a backup that has no keys as far as anybody knows. */
function wasFilledWithNothing({ status, restore: wish }: Observed, { name, claim }: Candidate): boolean {
  const { restore } = status;
  const isFilled = restore?.phase === "Starting" && restore.server === name && lastOf(claim) === restore.id;
  return isFilled && (wish?.keys ?? 0) === 0;
}

function candidates(o: Observed): Candidate[] {
  return o.servers.flatMap((server) => {
    const facts = factsOf(server);
    const { pod, claim } = server;
    // A claim that is being deleted stays for as long as its pod, and so does the data.
    const able = facts && pod && claim && !pod.deleting && !facts.syncing && !isAbandoned(o, facts);
    return able ? [{ ...server, pod, claim, facts }] : [];
  });
}

/** It runs the version that an upgrade goes back from: what it would take in is given up with it. */
function isAbandoned(o: Observed, { version }: ServerFacts): boolean {
  const { upgrade } = o.status;
  return upgrade?.phase === "GoingBack" && minorOf(version) === upgrade.to && !nothingLeadsBack(o);
}

/** Its history is that of the primary, so that offsets can be compared. A process that restarted has another id. */
function isComparable(facts: ServerFacts, leadership: Leadership): boolean {
  return facts.replicationId === leadership.replicationId;
}

function mostAdvanced(servers: readonly Candidate[]): Candidate | undefined {
  const penalty = ({ nodeCordoned, pod, claim }: Candidate) =>
    Number(nodeCordoned) + Number(!pod.ready) + Number(claim.deleting);
  return [...servers].sort((a, b) => {
    if (a.facts.offset !== b.facts.offset) return a.facts.offset > b.facts.offset ? -1 : 1;
    return penalty(a) - penalty(b) || a.ordinal - b.ordinal;
  })[0];
}

/**
 * Of all replicas that may have acknowledged a write, fewer than WAIT asks for are missing. Where none are asked for,
 * one that is there for an upgrade, or about to go, counts for nothing: the primary's own file has everything.
 */
function enough(o: Observed, alive: readonly Candidate[], { followers }: Leadership): boolean {
  if (o.spec.replicas === 0) return false;
  const asked = followers.filter((name) => alive.some((server) => server.name === name)).length;
  const acknowledgements = promised(o);
  return asked > 0 && (acknowledgements === 0 || asked > followers.length - acknowledgements);
}

/** All were restarted, so nobody can be compared; but where WAIT asked for every replica, any of them has it all. */
function restartedFollower(
  o: Observed,
  all: readonly Candidate[],
  { followers }: Leadership,
): Candidate | undefined {
  if (o.spec.replicas === 0 || followers.length === 0) return undefined;
  if (promised(o) < followers.length) return undefined;
  const primaryGone = hasLostVolume(o);
  return primaryGone
    ? all.find(
        (server) =>
          followers.includes(server.name) &&
          server.claim.epoch === o.status.epoch &&
          !isEmpty(server) &&
          !isReplaced(server),
      )
    : undefined;
}

/** The volume of the last primary is not there any more, or is empty: waiting for it makes no sense. */
function hasLostVolume(o: Observed): boolean {
  const server = serverNamed(o, o.status.primary);
  if (!server?.claim || server.claim.lost) return true;
  return server.claim.uid !== o.status.leadership?.claimUid || isEmpty(server);
}

function promote(o: Observed, server: Candidate, why: string, loss: string): Plan {
  return {
    status: {
      promotion: {
        server: server.name,
        runId: server.facts.runId,
        podUid: server.pod.uid,
        claimUid: server.claim.uid,
        epoch: nextEpoch(o),
        why,
        loss,
      },
    },
    notReady: waitingFor(reasons.promoting, `${server.name} was chosen: ${why}`, 0),
  };
}

/** The status is gone, the database is not. */
function adopt(o: Observed, server: Candidate): Plan {
  const epoch = nextEpoch(o);
  const { runId, replicationId } = server.facts;
  return {
    status: {
      primary: server.name,
      epoch,
      leadership: {
        runId,
        podUid: server.pod.uid,
        claimUid: server.claim.uid,
        replicationId,
        guard: 0,
        promise: promised(o),
        followers: [],
      },
      promotion: undefined,
      handover: undefined,
      fence: undefined,
    },
    events: [
      { type: "Normal", reason: "PrimaryFound", message: `${server.name} was found to be the primary` },
    ],
    notReady: waitingFor(reasons.promoting, `${server.name} was found to be the primary`, 0),
  };
}

function boundOf({ spec, status }: Observed): string {
  const guarded = (status.leadership?.guard ?? 0) > 0;
  return guarded
    ? `at most the last ${spec.durability.maxLagSeconds} s of writes that nobody waited for; nothing that WAIT ${spec.durability.acknowledgements} acknowledged`
    : "writes that no replica had received yet and nobody waited for";
}

function awaitOthers(o: Observed, leadership: Leadership, alive: readonly Candidate[], why: string): Plan {
  const absent = leadership.followers.filter((name) => !alive.some((server) => server.name === name));
  const wanted = [...new Set([o.status.primary ?? "", ...absent, ...lastCopies(o)])].filter(Boolean);
  const asked = candidates(o).map(({ name }) => name);
  const able = wanted.filter((name) => canReturn(o, name) && !asked.includes(name));
  const names = (able.length > 0 ? able : wanted.slice(0, 1)).join(" or ");
  const message = `${why}; promoting another server could lose acknowledged writes until ${names} can be asked`;
  return awaitServers(o, leadership.followers, `${message}${insteadOf(o, alive)}`);
}

/** Whether it may still come back with what it had. */
function canReturn(o: Observed, name: string): boolean {
  const server = serverNamed(o, name);
  if (name === o.status.primary && hasLostVolume(o)) return false;
  return server?.claim !== undefined && !server.claim.lost && server.claim.epoch !== 0 && !isDamaged(server);
}

/**
 * Where the primary cannot come back with its data, who has some of it on a volume is asked, also one that was scaled away
 * and that nobody counts on any more: a person may want what it has.
 */
function lastCopies(o: Observed): readonly string[] {
  if (o.status.primary !== undefined && canReturn(o, o.status.primary)) return [];
  return o.servers
    .filter(({ name, claim }) => (claim?.epoch ?? 0) > 0 && !claim?.deleting && canReturn(o, name))
    .map(({ name }) => name);
}

/** Who has most of the data, for a person to decide. */
function insteadOf(o: Observed, alive: readonly Candidate[]): string {
  const all = candidates(o);
  const filled = all.filter((server) => !isEmpty(server) && !isHollow(server.facts, all));
  const best = mostAdvanced(alive) ?? filled[0];
  return best ? wayOut(o, best) : "";
}

/**
 * Those who were scaled away start again, if their volumes are still there; those who run are not stopped. A damaged server
 * that tries once more does not look damaged meanwhile, so a server that is awaited stays awaited until somebody leads.
 */
function awaitServers(o: Observed, names: readonly string[], message: string): Plan {
  const leadership = o.status.leadership as Leadership;
  const awaited = [...new Set([...(leadership.awaited ?? []), ...names, ...lastCopies(o)])].sort();
  return {
    status: { leadership: { ...leadership, awaited } },
    notReady: waitingFor(reasons.primaryLost, message, 500),
  };
}

function progress(o: Observed): string {
  const first = o.servers.find(({ ordinal }) => ordinal === 0);
  if (!first) return "the first server is made";
  if (first.pod?.obstacle !== undefined) return `${first.name} does not start: ${first.pod.obstacle}`;
  return `the first server is starting: ${first.name} (${conditionOf(first)})`;
}
