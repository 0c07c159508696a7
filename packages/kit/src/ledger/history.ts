/** What clients did and saw, and whether a single server that never failed could have answered like that. */
import { isLinearizable } from "./linearizable.ts";
import type { Operation } from "./operation.ts";

/** A moment from which the database continued from an older state, as announced: a restore or a disaster recovery. */
export interface Recovery {
  readonly atMs: number;
  /** Everything acknowledged up to this revision must still be there. */
  readonly revision: bigint;
}

/** What {@link checkHistory} found. */
export interface HistoryReport {
  readonly operations: number;
  /** Writes that were answered. */
  readonly acknowledged: number;
  /** Acknowledged writes, after the recovery if there was one, that the final state does not contain. */
  readonly lost: number;
  /** One sentence for each problem; empty when the history is possible. */
  readonly violations: readonly string[];
}

/** How to check a history. */
export interface HistoryOptions {
  /** Default: the database never continued from an older state. */
  readonly recovery?: Recovery | undefined;
  /**
   * Also checks the order: each key for linearizability, and revisions over all keys for strict order. Default: true.
   * Switch it off for a database whose replicas lag or whose failover may drop writes; presence and value are checked
   * all the same.
   */
  readonly order?: boolean;
}

/**
 * Compares a history with what the database holds at the end. Presence: the last acknowledged value of each key, or one
 * that was written after it, is there. Value: nothing is there that was never written. Order: see
 * {@link HistoryOptions.order}.
 */
export function checkHistory(
  history: readonly Operation[],
  final: ReadonlyMap<string, number>,
  options: HistoryOptions = {},
): HistoryReport {
  const { recovery, order = true } = options;
  const acknowledged = history.filter(({ type, endMs }) => type === "write" && endMs !== undefined).length;
  const before = recovery ? history.flatMap((each) => beforeRecovery(each, recovery)) : [];
  const after = recovery ? afterRecovery(history, recovery) : history;
  const orders = order
    ? [...orderViolations(before), ...orderViolations([...after, ...finalReads(after, final)])]
    : [];
  const { lost, violations } = presence(after, final);
  return { operations: history.length, acknowledged, lost, violations: [...orders, ...violations] };
}

/** The final state, as reads that overlap with nothing. */
function finalReads(history: readonly Operation[], final: ReadonlyMap<string, number>): Operation[] {
  const end = history.reduce((latest, { startMs, endMs }) => Math.max(latest, endMs ?? startMs), 0);
  const at = { type: "read" as const, startMs: end + 1, endMs: end + 2, revision: undefined };
  return [...final].map(([key, value]) => ({ ...at, key, value }));
}

function orderViolations(history: readonly Operation[]): string[] {
  const keys = [...Map.groupBy(history, ({ key }) => key)];
  const impossible = keys.filter(([, operations]) => !isLinearizable(operations));
  return [
    ...impossible.map(([key]) => `the history of ${key} is not linearizable`),
    ...revisionViolations(history),
  ];
}

/** What started before the recovery; an answer that came after it counts as no answer. */
function beforeRecovery(operation: Operation, { atMs }: Recovery): Operation[] {
  if (operation.startMs >= atMs) return [];
  const { endMs, type } = operation;
  if (endMs === undefined || endMs < atMs) return [operation];
  return type === "write" ? [{ ...operation, endMs: undefined, revision: undefined }] : [];
}

/** What started after the recovery, on top of what had to survive it; other earlier writes may show up. */
function afterRecovery(history: readonly Operation[], { atMs, revision }: Recovery): Operation[] {
  const writes = history.filter(({ type, startMs }) => type === "write" && startMs < atMs);
  const survives = (each: Operation) => each.endMs !== undefined && (each.revision ?? 0n) <= revision;
  const kept = [...Map.groupBy(writes.filter(survives), ({ key }) => key)].map(([key, survivors]) => ({
    key,
    type: "write" as const,
    value: greatest(survivors),
    startMs: atMs - 2,
    endMs: atMs - 1,
    revision: undefined,
  }));
  const floor = new Map(kept.map(({ key, value }) => [key, value]));
  const possible = writes
    .filter((each) => !survives(each) && each.value > (floor.get(each.key) ?? 0))
    .map((each) => ({ ...each, startMs: atMs - 1, endMs: undefined, revision: undefined }));
  return [...kept, ...possible, ...history.filter(({ startMs }) => startMs >= atMs)];
}

/** Values of a key only rise, so the last acknowledged one, or one above it, must be there at the end. */
function presence(
  history: readonly Operation[],
  final: ReadonlyMap<string, number>,
): Pick<HistoryReport, "lost" | "violations"> {
  let lost = 0;
  const violations: string[] = [];
  const writes = Map.groupBy(
    history.filter(({ type }) => type === "write"),
    ({ key }) => key,
  );
  for (const key of new Set([...writes.keys(), ...final.keys()])) {
    const attempts = writes.get(key) ?? [];
    const answered = attempts.filter(({ endMs }) => endMs !== undefined);
    const found = final.get(key) ?? 0;
    lost += answered.filter(({ value }) => value > found).length;
    const acknowledged = greatest(answered);
    const isWritten = found === 0 || attempts.some(({ value }) => value === found);
    if (found >= acknowledged && isWritten) continue;
    violations.push(
      `${key} was acknowledged up to ${acknowledged}, attempted up to ${greatest(attempts)}, and is ${found}`,
    );
  }
  return { lost, violations };
}

function greatest(operations: readonly Operation[]): number {
  return operations.reduce((most, { value }) => Math.max(most, value), 0);
}

/** An operation that started after another had ended must have the later revision: strict serializability. */
function revisionViolations(history: readonly Operation[]): string[] {
  const answered = history.filter((each) => each.endMs !== undefined && each.revision !== undefined);
  const byEnd = answered
    .filter(({ type }) => type === "write")
    .sort((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0));
  const byStart = [...answered].sort((a, b) => a.startMs - b.startMs);
  const violations: string[] = [];
  let newest = 0n;
  let next = 0;
  for (const operation of byStart) {
    for (; (byEnd[next]?.endMs ?? Number.POSITIVE_INFINITY) < operation.startMs; next++) {
      const { revision = 0n } = byEnd[next] as Operation;
      if (revision > newest) newest = revision;
    }
    const { revision = 0n, type, key, value } = operation;
    const behind = type === "write" ? revision <= newest : revision < newest;
    if (behind)
      violations.push(
        `${type} of ${key}=${value} has revision ${revision}, though ${newest} had been answered before`,
      );
  }
  return violations;
}
