/** A restore: stop everyone, fill one volume and set its data aside, start, and let the others copy. Pure. */
import type { BackupErrorCode } from "@keelson/kit";
import { reasons } from "../api/conditions.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import {
  asideOf,
  carriedOut,
  epochBefore,
  hadData,
  lastOf,
  nextRestoreId,
  restoredMark,
  restoreId,
  restoreKey,
  wishOf,
} from "../observe/restores.ts";
import { serversToRun } from "../observe/servers-to-run.ts";
import { serverName } from "../resources/names.ts";
import { healthyPrimary, isMarked, serverNamed } from "./facts.ts";
import { initializationJobs } from "./initialize.ts";
import { isKnown } from "./lineage.ts";
import { approvedByPerson, type Plan, waitingFor } from "./plan.ts";

export function restore(o: Observed): Plan {
  const plan = next(o);
  const keys = jobsToDelete(o);
  return keys.length === 0
    ? plan
    : { ...plan, actions: [...(plan.actions ?? []), { do: "deleteJobs", keys }] };
}

function next(o: Observed): Plan {
  const { restore: wish, status } = o;
  const begun = status.restore;
  if (begun && !ended.has(begun.phase) && !(wish && carriesOut(begun, wish.id))) return givenUp(o, begun);
  // Asked for again, what failed is tried again.
  if (!wish) return begun?.phase === "Failed" ? { status: { restore: undefined } } : {};
  const { source } = wish;
  const under = carriesOut(status.restore, wish.id) ? status.restore : undefined;
  if (!under) {
    const before = repeated(o, wish.id);
    if (before) return before;
    if ("problem" in source) return unavailable(source);
    // It ends first, and says what it waits for.
    if (status.upgrade) return {};
    const server = toFill(o);
    const epoch = Math.max(status.epoch ?? 0, ...o.servers.map(({ claim }) => claim?.epoch ?? 0));
    const done = carriedOut(status);
    return {
      // Another restore may have carried out the same wish before: its Job and its mark on the volume are not ours.
      status: {
        restore: { id: restoreId(wish.id, epoch), wish: wish.id, phase: "Stopping", server },
        ...(done.length > 0 && { restores: done }),
      },
      events: [
        {
          type: "Normal",
          reason: reasons.restoring,
          message: `the volume of ${server} is filled from a backup`,
        },
      ],
      notReady: waitingFor(reasons.restoring, "the servers are being stopped", 0),
    };
  }
  switch (under.phase) {
    case "Stopping":
      return stopping(o, under);
    case "Filling":
      return filling(o, under);
    case "Starting":
      return starting(o, under);
    case "Failed":
      return afterFailure(o, under);
    case "Done":
      return {};
  }
}

function unavailable({
  problem: message,
  final,
}: {
  readonly problem: string;
  readonly final: boolean;
}): Plan {
  const state = final ? "failed" : "waiting";
  return { notReady: { state, reason: reasons.restoreFailed, message, recheckMs: 5_000 } };
}

/** The one with the newest data, which is set aside on its volume: the others copy it afterwards, and lose their own. */
function toFill(o: Observed): string {
  const { primary } = o.status;
  const leading = o.servers.filter((server) => factsOf(server)?.role === "primary");
  // The status may be lost, and the database not.
  const only = primary === undefined && leading.length === 1 ? leading[0] : undefined;
  const leads = healthyPrimary(o)?.server ?? only;
  if (leads) return leads.name;
  const filled = o.servers
    .filter(({ claim }) => claim && !claim.deleting && !claim.lost && (claim.epoch ?? 0) > 0)
    .sort(
      ({ claim: a }, { claim: b }) =>
        (b?.primaryEpoch ?? 0) - (a?.primaryEpoch ?? 0) || (b?.epoch ?? 0) - (a?.epoch ?? 0),
    );
  const [best] = [...filled.filter(({ name }) => name === primary), ...filled];
  return best?.name ?? primary ?? serverName(o.database, 0);
}

/** A spec may be that of an earlier time, by a revert: what was written after that restore is not taken away by it. */
function repeated({ status }: Observed, wish: string): Plan | undefined {
  const [last, ...earlier] = carriedOut(status);
  // Another one was asked for in between, and never carried out.
  if (last !== undefined && wishOf(last) === wish) {
    const { primary: server } = status;
    return server === undefined ? {} : { status: { restore: { id: last, wish, phase: "Done", server } } };
  }
  if (!earlier.some((id) => wishOf(id) === wish)) return undefined;
  const message =
    "what spec.restoreFrom asks for was carried out before another restore, and is not carried out twice: everything " +
    "is as it was; give spec.restoreFrom.request another value to restore it again, or remove spec.restoreFrom";
  return { notReady: { state: "failed", reason: reasons.restoreFailed, message } };
}

/**
 * A pod that has ended keeps its claim from going, when the server is scaled away or someone deletes the claim. So does a
 * failed attempt of a Job that goes on, and no other attempt can begin on that claim.
 */
function jobsToDelete(o: Observed): string[] {
  const { jobs, status, servers } = o;
  const { restore: under } = status;
  const isGoing = servers.some(({ claim }) => claim?.deleting);
  return jobs.flatMap(({ key, state }) => {
    if (!key.startsWith(restoreKey(""))) return [];
    const isAwaited = isUnderWay(under) && key === restoreKey(under?.id ?? "");
    if (state === "running") return isAwaited && isClaimGoing(o, under?.server) ? [key] : [];
    const isOver = state === "succeeded" && (!under || ended.has(under.phase));
    return !isAwaited && (isOver || isGoing) ? [key] : [];
  });
}

function isClaimGoing(o: Observed, server: string | undefined): boolean {
  return server !== undefined && serverNamed(o, server)?.claim?.deleting === true;
}

const ended: ReadonlySet<string> = new Set(["Done", "Failed"]);

function isUnderWay(restore: Observed["status"]["restore"]): boolean {
  return restore?.phase === "Stopping" || restore?.phase === "Filling";
}

/** Nobody asks for it any more: it ends where the volume was not touched yet; otherwise it is completed first. */
function givenUp(o: Observed, under: Under): Plan {
  const job = o.jobs.find(({ key }) => key === restoreKey(under.id));
  if (under.phase === "Starting") return starting(o, under);
  if (job) return filling(o, under);
  return {
    status: { restore: undefined },
    notReady: waitingFor(reasons.restoring, "the restore is given up, and the servers start again", 0),
  };
}

/** Earlier releases recorded the wish as the id. */
function carriesOut(restore: Observed["status"]["restore"], wish: string): boolean {
  return (restore?.wish ?? restore?.id) === wish;
}

type Under = NonNullable<Observed["status"]["restore"]>;

function stopping(o: Observed, under: Under): Plan {
  const running = o.servers.filter(({ pod }) => pod);
  if (running.length > 0 || o.setReplicas !== 0) {
    const names = running.map(({ name }) => name).join(", ");
    return { notReady: waitingFor(reasons.restoring, `the servers are being stopped: ${names}`, 200) };
  }
  return {
    status: {
      restore: { ...under, phase: "Filling" },
      primary: undefined,
      leadership: undefined,
      promotion: undefined,
      fence: undefined,
      handover: undefined,
    },
    notReady: waitingFor(reasons.restoring, "the volume is being filled", 0),
  };
}

function filling(o: Observed, under: Under): Plan {
  const { restore: wish, status } = o;
  const job = o.jobs.find(({ key }) => key === restoreKey(under.id));
  const notReady = waitingFor(reasons.restoring, `the volume of ${under.server} is being filled`, 2_000);
  if (!job) {
    const other = o.jobs.find(({ key, state }) => key.startsWith(restoreKey("")) && state === "running");
    if (other) return { notReady: waitingFor(reasons.restoring, `${other.message} first`, 2_000) };
    if (!wish) return { notReady };
    // It was there when the servers stopped.
    if ("problem" in wish.source) return unavailable(wish.source);
    if (isClaimGoing(o, under.server)) {
      const message = `the volume of ${under.server} is filled when the claim that is being deleted has gone`;
      return { notReady: waitingFor(reasons.restoring, message, 2_000) };
    }
    return {
      actions: [{ do: "startRestore", id: under.id, server: under.server, from: wish.source }],
      notReady,
    };
  }
  if (job.state === "running") return { notReady };
  if (job.state === "failed")
    return failed(
      under,
      job.message,
      mayHelp(job.reason) ? { failedAt: new Date(o.nowMs).toISOString() } : {},
    );
  // Its volume has the newest data from now on: that is written on its claim before anyone starts.
  const others = o.servers.filter(({ name }) => name !== under.server);
  const before = Math.max(status.epoch ?? 0, epochBefore(under.id));
  const epoch = Math.max(before, ...others.map((each) => each.claim?.epoch ?? 0)) + 1;
  const claim = serverNamed(o, under.server)?.claim;
  const restored = restoredMark([under.id, ...carriedOut(status)]);
  const marks = { epoch, primaryEpoch: epoch, identity: "", restored };
  if (!claim || !isMarked(claim, marks)) {
    return {
      actions: [{ do: "markClaim", server: under.server, ...marks }],
      notReady: { ...notReady, recheckMs: 50 },
    };
  }
  const aside = before > 0 && hadData(under.id) ? { aside: asideOf(under.id) } : {};
  return {
    status: { restore: { ...under, phase: "Starting", ...aside }, epoch },
    notReady: waitingFor(reasons.restoring, "the servers start", 0),
  };
}

/** With these failures another attempt ends the same way. */
const final: ReadonlySet<string> = new Set<BackupErrorCode>([
  ...(["NotFound", "NotOurs", "NotVerified", "VersionTooNew", "BadConfiguration"] as const),
  ...(["SnapshotDamaged", "StoredDamaged", "ContentDiffers"] as const),
]);

function mayHelp(reason: string | undefined): boolean {
  return reason === undefined || !final.has(reason);
}

/** What may have been a passing trouble is tried again after this long, while nobody is served. */
const againMs = 60_000;

/** A database that was never filled has nothing else to serve. One that serves its own data is not stopped again by itself. */
function afterFailure(o: Observed, { message, failedAt, ...under }: Under): Plan {
  const isTried = failedAt !== undefined && serversToRun(o) === 0;
  const agoMs = o.nowMs - Date.parse(failedAt ?? "");
  // A clock may have been set back.
  if (isTried && (agoMs >= againMs || agoMs < 0))
    return {
      actions: [{ do: "deleteJobs", keys: [restoreKey(under.id)] }],
      status: { restore: { ...under, phase: "Stopping" } },
      notReady: waitingFor(reasons.restoring, "the restore is tried again", 0),
    };
  const words = isTried
    ? `${message}; it is tried again every minute, with what spec.restoreFrom says`
    : `${message}; correct spec.restoreFrom, or give spec.restoreFrom.request another value to try again`;
  return {
    notReady: { state: isTried ? "waiting" : "failed", reason: reasons.restoreFailed, message: words },
  };
}

function failed(under: Under, message: string, more: Pick<Under, "failedAt"> = {}): Plan {
  return {
    status: { restore: { ...under, phase: "Failed", message, ...more } },
    events: [{ type: "Warning", reason: reasons.restoreFailed, message }],
    notReady: waitingFor(reasons.restoring, message, 0),
  };
}

/**
 * Nobody has led since the restore, and what it put on a volume is not there any more. The status is that of the restore
 * itself: where it was lost, nobody knows who led since.
 */
export function isLostUnserved({ status, servers }: Observed): boolean {
  const { restore, epoch, leadership, promotion } = status;
  if (restore?.phase !== "Starting" || epoch === undefined || leadership || promotion) return false;
  // The status may be of an earlier time.
  if (servers.some((server) => factsOf(server)?.role === "primary")) return false;
  return !servers.some(({ claim }) => claim && !claim.deleting && !claim.lost && (claim.epoch ?? 0) >= epoch);
}

/** Nothing was written since, so that nothing is undone by it. */
function again(o: Observed, under: Under): Plan {
  const { id, server } = under;
  const message = `what was restored is lost with the volume of ${server}`;
  if (!o.restore || !carriesOut(under, o.restore.id)) return { status: { restore: undefined } };
  return {
    status: { restore: { id: nextRestoreId(id), wish: o.restore.id, phase: "Stopping", server } },
    events: [{ type: "Warning", reason: reasons.restoring, message: `${message}, and is restored again` }],
    notReady: waitingFor(reasons.restoring, `${message}: it is restored again`, 0),
  };
}

/** A person approved the loss of what was restored, and another server leads. */
function ledWithout(under: Under, { name }: Server): Plan {
  return failed(under, `${name} leads with its own data, and not ${under.server}`);
}

/** What a promotion that a person approved makes of a restore that was done: who leads now may never have had its data. */
export function lostByApproval({ status }: Observed, server: Server): Plan {
  const { restore: under, leadership, promotion } = status;
  if (under?.phase !== "Done" || promotion?.loss !== approvedByPerson) return {};
  if (server.claim && lastOf(server.claim) === under.id) return {};
  // It followed who served the restored data, and the mark on its claim was still to come.
  const before = factsOf(server)?.secondReplicationId;
  if (leadership && before !== undefined && isKnown(leadership, before)) return {};
  return ledWithout(under, server);
}

function starting(o: Observed, under: Under): Plan {
  const primary = healthyPrimary(o);
  if (isLostUnserved(o)) return again(o, under);
  if (!primary) {
    const message = `${under.server} starts on the restored data`;
    return { notReady: waitingFor(reasons.restoring, message, 500) };
  }
  if (primary.server.name !== under.server) return ledWithout(under, primary.server);
  const { keys } = primary.facts;
  return {
    // Functions, seed data and migrations are those of the backup: what it lacks is applied again.
    actions: [{ do: "deleteJobs", keys: initializationJobs(o) }],
    status: { restore: { ...under, phase: "Done", keys }, initialized: undefined },
    events: [
      {
        type: "Normal",
        reason: "Restored",
        message: `${primary.server.name} serves the restored data: ${keys} keys`,
      },
    ],
  };
}
