/** What comes next for a drill: pure, from what it has seen. */
import type { ObjectOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";
import type { ScheduleDecision } from "../backup/schedule.ts";
import { backupStamp } from "../backup/schedule.ts";
import type { DrillObject, DrillResult, DrillRun, DrillStatus, Victim } from "./drill.ts";
import { restartsOf, type Target, trouble } from "./target.ts";

type PodObject = ObjectOf<typeof Pod>;

/** What the client of a drill has counted. */
export interface ClientReport {
  readonly acknowledged: number;
  readonly lost: number;
  readonly longestGapMs: number;
}

/** What the container that does the fault in a pod says. */
export interface StrikeReport {
  readonly state: "working" | "done" | "failed";
  readonly message: string;
}

/** Everything that a decision is made from. */
export interface ObservedDrill {
  readonly drill: DrillObject;
  readonly target: Target | undefined;
  /** All pods of the target. */
  readonly pods: readonly PodObject[];
  /** When the next run is due; undefined for a drill without a schedule. */
  readonly schedule: ScheduleDecision | undefined;
  /** Another drill that runs on the same target. */
  readonly other: string | undefined;
  /** By the UID of the victim, where the fault is done from inside. */
  readonly strikes: ReadonlyMap<string, StrikeReport>;
  /** Absent without a client, or while it does not answer. */
  readonly client: { readonly wanted: boolean; readonly report?: ClientReport; readonly problem?: string };
  readonly nowMs: number;
  /** Chooses so many of the pods. */
  readonly choose: (pods: readonly PodObject[], count: number) => readonly PodObject[];
}

/**
 * - `rest`: nothing is to be done, until a time.
 * - `prepare`: the client is started; the fault follows when it works.
 * - `strike`: the fault is done to the victims. May be done twice.
 * - `watch`: the fault is done; the target recovers.
 * - `end`: the run is over; what it needed is removed.
 */
export interface DrillDecision {
  readonly do: "rest" | "prepare" | "strike" | "watch" | "end";
  readonly status: DrillStatus;
  readonly reason: string;
  readonly message: string;
  readonly recheckMs: number;
  readonly event?: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly message: string };
}

/** The target counts as recovered when it was well for so long. */
const settledMs = 2_000;
const lookAgainMs = 500;
const kept = 20;
const dayMs = 86_400_000;
/** A client that does not work by then keeps the fault from being done. */
const prepareMs = 120_000;

export function decideDrill(o: ObservedDrill): DrillDecision {
  const { run } = o.drill.status ?? {};
  if (!run) return idle(o);
  switch (run.phase) {
    case "Preparing":
      return preparing(o, run);
    case "Striking":
      return striking(o, run);
    case "Recovering":
      return recovering(o, run);
  }
}

function idle(o: ObservedDrill): DrillDecision {
  const { spec, metadata } = o.drill;
  const { failures = 0, failedGeneration } = statusOf(o);
  const rest = (
    phase: DrillStatus["phase"],
    reason: string,
    message: string,
    recheckMs = 5_000,
  ): DrillDecision => ({
    do: "rest",
    status: { ...withSchedule(o), phase, message },
    reason,
    message,
    recheckMs,
  });
  if (o.schedule?.do === "invalid") return rest("Stopped", "ScheduleInvalid", o.schedule.message, dayMs);
  if (failures >= spec.budget.failures && failedGeneration === metadata.generation)
    return rest(
      "Stopped",
      "NotRecovered",
      `${failures} runs without recovery: no other begins until the spec changes`,
      dayMs,
    );
  if (spec.suspend) return rest("Suspended", "Suspended", "spec.suspend is set", dayMs);
  const due = o.schedule ? (o.schedule.do === "take" ? o.schedule.at : undefined) : asked(o);
  if (!due) {
    if (!o.schedule) return rest("Done", "Done", "it has run", dayMs);
    const next = o.schedule.do === "wait" ? o.schedule.next : undefined;
    return rest(
      "Waiting",
      "Scheduled",
      `the next run is due at ${next?.toISOString() ?? "no time"}`,
      untilMs(o, next),
    );
  }
  const today = runsOfLastDay(o).length;
  if (today >= spec.budget.runsPerDay)
    return rest(
      "Waiting",
      "BudgetSpent",
      `${today} runs in the last 24 hours, as many as the budget allows`,
      60_000,
    );
  const why = obstacle(o);
  if (why !== undefined)
    return rest("Waiting", "TargetNotWell", `it begins when ${spec.target.name} is well: ${why}`);
  const victims = victimsOf(o);
  if (typeof victims === "string") return rest("Waiting", "NoVictims", victims);
  const run: DrillRun = {
    id: backupStamp(new Date(o.nowMs)),
    phase: "Preparing",
    due: due.toISOString(),
    victims: [...victims],
  };
  return going(
    o,
    run,
    "prepare",
    "Preparing",
    `a run begins on ${victims.map(({ name }) => name).join(", ")}`,
  );
}

/** Of the results only some are kept, fewer than a budget may allow. Earlier releases counted them. */
function runsOfLastDay(o: ObservedDrill): readonly string[] {
  const { results = [], lastDay = results.map(({ at }) => at) } = statusOf(o);
  return lastDay.filter((at) => o.nowMs - Date.parse(at) < dayMs);
}

/** A drill without a schedule runs once for each generation of its spec. */
function asked({ drill }: ObservedDrill): Date | undefined {
  const { lastScheduled } = drill.status ?? {};
  const request = `${drill.metadata.generation ?? 1}`;
  return lastScheduled === request ? undefined : new Date(Date.parse(drill.metadata.creationTimestamp));
}

/** Why no fault may be done now. */
function obstacle(o: ObservedDrill): string | undefined {
  if (o.other !== undefined) return `the drill ${o.other} runs on it`;
  return trouble(o.target, o.pods);
}

function victimsOf(o: ObservedDrill): readonly Victim[] | string {
  const { victims, budget, fault, volume } = o.drill.spec;
  const able = o.pods.filter(({ metadata }) =>
    Object.entries(victims.labels).every(([key, value]) => metadata.labels?.[key] === value),
  );
  if (able.length === 0) return "no pod of the target has the labels of the victims";
  const count = victims.all ? able.length : Math.min(victims.count, able.length);
  if (count > budget.pods)
    return `it would hit ${count} pods, more than the ${budget.pods} that budget.pods allows`;
  const chosen = o.choose(able, count);
  const signals = fault === "Kill" || fault === "Freeze";
  const closed = chosen.find(({ spec }) => signals && spec?.shareProcessNamespace !== true);
  if (closed)
    return `${closed.metadata.name} does not share its process namespace (shareProcessNamespace), so a signal from inside never reaches its first process; use DeletePod`;
  const bare = chosen.find(
    ({ spec }) => fault === "FillDisk" && !spec?.volumes?.some(({ name }) => name === volume),
  );
  if (bare) return `${bare.metadata.name} has no volume ${volume}`;
  return chosen.map((pod) => ({
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    restarts: restartsOf(pod),
  }));
}

/** The client must work before anything is broken, and the target must still be well. */
function preparing(o: ObservedDrill, run: DrillRun): DrillDecision {
  const why = obstacle(o) ?? missing(o, run);
  if (why !== undefined) return abandoned(o, run, `the target was not well any more: ${why}`);
  const { client } = o;
  if (client.wanted && !client.report?.acknowledged) {
    const waitedMs = o.nowMs - Date.parse(stampTime(run.id));
    const problem = client.problem ?? "it has written nothing yet";
    if (waitedMs > prepareMs) return abandoned(o, run, `the client does not work: ${problem}`);
    return going(o, run, "prepare", "Preparing", `the client starts: ${problem}`);
  }
  const next: DrillRun = { ...run, phase: "Striking" };
  return { ...going(o, next, "watch", "Striking", "the fault follows"), recheckMs: 0 };
}

function missing({ pods }: ObservedDrill, { victims }: DrillRun): string | undefined {
  const gone = victims.find(({ uid }) => !pods.some(({ metadata }) => metadata.uid === uid));
  return gone && `${gone.name} is gone`;
}

function striking(o: ObservedDrill, run: DrillRun): DrillDecision {
  const next: DrillRun = { ...run, phase: "Recovering", struckAt: new Date(o.nowMs).toISOString() };
  const names = run.victims.map(({ name }) => name).join(", ");
  return {
    ...going(o, next, "strike", "Striking", `${o.drill.spec.fault}: ${names}`),
    event: { type: "Normal", reason: "Struck", message: `${o.drill.spec.fault}: ${names}` },
  };
}

function recovering(o: ObservedDrill, run: DrillRun): DrillDecision {
  const { spec } = o.drill;
  const struckMs = Date.parse(run.struckAt ?? run.due);
  const failed = run.victims
    .map(({ uid }) => o.strikes.get(uid))
    .find((strike) => strike?.state === "failed");
  if (failed) return abandoned(o, run, `the fault could not be done: ${failed.message}`);
  const why = trouble(o.target, o.pods);
  const wellSince = why === undefined ? (run.wellSince ?? new Date(o.nowMs).toISOString()) : undefined;
  const { wellSince: _, ...rest } = run;
  const next: DrillRun = { ...rest, ...(wellSince === undefined ? {} : { wellSince }) };
  const over = run.victims.every((victim) => isOver(o, victim, struckMs));
  if (over && wellSince !== undefined && o.nowMs - Date.parse(wellSince) >= settledMs && !awaitsClient(o))
    return ended(o, next, Math.max(0, Date.parse(wellSince) - struckMs));
  const lateMs = o.nowMs - struckMs - spec.recoverWithinSeconds * 1_000;
  const state = why ?? (over ? "it is well; that must last" : "the fault lasts");
  if (lateMs >= 0) return ended(o, next, undefined, state);
  return going(o, next, "watch", "Recovering", state);
}

/** A client that cannot read back what it wrote yet is given the time that the target has. */
function awaitsClient({ client }: ObservedDrill): boolean {
  return client.wanted && client.report === undefined;
}

/** Whether the fault has had its effect on a victim and lasts no longer. */
function isOver(o: ObservedDrill, victim: Victim, struckMs: number): boolean {
  const pod = o.pods.find(({ metadata }) => metadata.uid === victim.uid);
  if (!pod) return true;
  const { fault, durationSeconds } = o.drill.spec;
  switch (fault) {
    case "DeletePod":
      return false;
    case "Kill":
      return restartsOf(pod) > victim.restarts;
    case "CutOff":
      return o.nowMs - struckMs >= durationSeconds * 1_000;
    case "Freeze":
    case "FillDisk":
      return o.strikes.get(victim.uid)?.state === "done";
  }
}

function ended(o: ObservedDrill, run: DrillRun, afterMs: number | undefined, why = ""): DrillDecision {
  const { report } = o.client;
  const strikes = run.victims.flatMap(({ uid }) => o.strikes.get(uid)?.message || []);
  const recovered = afterMs !== undefined;
  const words = [
    ...(recovered ? [] : [`not well after ${o.drill.spec.recoverWithinSeconds} s: ${why}`]),
    ...strikes,
  ];
  const result: DrillResult = {
    ...begun(o, run),
    recovered,
    ...(recovered ? { recoveredAfterSeconds: Math.round(afterMs / 100) / 10 } : {}),
    ...(report && {
      acknowledged: report.acknowledged,
      lost: report.lost,
      longestGapSeconds: Math.round(report.longestGapMs / 10) / 100,
    }),
    ...(words.length === 0 ? {} : { message: words.join("; ") }),
  };
  const good = recovered && (report?.lost ?? 0) === 0;
  const failures = good ? 0 : (o.drill.status?.failures ?? 0) + 1;
  const message = recovered
    ? `recovered after ${result.recoveredAfterSeconds} s${report ? `, ${report.lost} of ${report.acknowledged} acknowledged writes lost` : ""}`
    : words[0];
  return over(o, run, result, failures, message ?? "", good ? "Normal" : "Warning");
}

/** A run that could not show anything: no failure of the target. */
function abandoned(o: ObservedDrill, run: DrillRun, message: string): DrillDecision {
  const failures = o.drill.status?.failures ?? 0;
  const result: DrillResult = {
    ...begun(o, run),
    recovered: trouble(o.target, o.pods) === undefined,
    message,
  };
  return over(o, run, result, failures, message, "Warning");
}

function begun(o: ObservedDrill, run: DrillRun) {
  return {
    at: run.struckAt ?? new Date(o.nowMs).toISOString(),
    fault: o.drill.spec.fault,
    victims: run.victims.map(({ name }) => name),
  };
}

function over(
  o: ObservedDrill,
  run: DrillRun,
  result: DrillResult,
  failures: number,
  message: string,
  type: "Normal" | "Warning",
): DrillDecision {
  const { run: _, ...rest } = statusOf(o);
  const lastScheduled = o.drill.spec.schedule === undefined ? `${o.drill.metadata.generation ?? 1}` : run.due;
  return {
    do: "end",
    status: {
      ...rest,
      phase: "Waiting",
      results: [result, ...(rest.results ?? [])].slice(0, kept),
      lastDay: [result.at, ...runsOfLastDay(o)],
      failures,
      ...(failures > 0 ? { failedGeneration: o.drill.metadata.generation ?? 1 } : {}),
      lastScheduled,
      message,
    },
    reason: type === "Normal" ? "Recovered" : "NotRecovered",
    message,
    recheckMs: 0,
    event: { type, reason: type === "Normal" ? "Recovered" : "NotRecovered", message },
  };
}

function going(
  o: ObservedDrill,
  run: DrillRun,
  what: DrillDecision["do"],
  reason: string,
  message: string,
): DrillDecision {
  return {
    do: what,
    status: { ...withSchedule(o), phase: "Running", run, message },
    reason,
    message,
    recheckMs: lookAgainMs,
  };
}

function withSchedule(o: ObservedDrill): DrillStatus {
  const { next: _, message: __, ...rest } = statusOf(o);
  const { schedule } = o;
  if (!schedule || schedule.do === "invalid") return rest;
  return {
    ...rest,
    ...(schedule.next ? { next: schedule.next.toISOString() } : {}),
    ...(schedule.do === "wait" && schedule.lastScheduled !== undefined
      ? { lastScheduled: schedule.lastScheduled }
      : {}),
  };
}

function statusOf({ drill }: ObservedDrill): DrillStatus {
  return (drill.status ?? {}) as DrillStatus;
}

function untilMs(o: ObservedDrill, next: Date | undefined): number {
  return next ? Math.max(1_000, next.getTime() - o.nowMs) : dayMs;
}

/** The time in an id that `backupStamp` made. */
function stampTime(id: string): string {
  return id.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z");
}
