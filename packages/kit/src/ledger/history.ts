/** What clients did and saw, and whether a single etcd that never failed could have answered so. */

/** One operation on one key. Times are in milliseconds of one clock. */
export interface Operation {
  readonly key: string;
  readonly type: "write" | "read";
  /** What was written, or what was read; 0 stands for no value. */
  readonly value: number;
  readonly startMs: number;
  /** Undefined when no answer came: it may have taken effect at any time since, or never. */
  readonly endMs: number | undefined;
  /** etcd's revision in the answer. */
  readonly revision: bigint | undefined;
}

export interface Verdict {
  readonly operations: number;
  readonly acknowledged: number;
  /** Sentences about what cannot be; empty when all is well. */
  readonly violations: readonly string[];
}

/** A moment from which the cluster went on from an older state, as its operator had said it would. */
export interface Loss {
  readonly atMs: number;
  /** What was acknowledged up to this revision must still be there. */
  readonly revision: bigint;
}

/** Checks every key as a register of its own, and the order of revisions over all keys. */
export function check(
  history: readonly Operation[],
  final: ReadonlyMap<string, number>,
  loss?: Loss,
): Verdict {
  const acknowledged = history.filter(({ type, endMs }) => type === "write" && endMs !== undefined).length;
  const before = loss ? history.flatMap((each) => beforeLoss(each, loss)) : [];
  const after = loss ? afterLoss(history, loss) : history;
  return {
    operations: history.length,
    acknowledged,
    violations: [
      ...order(before),
      ...order([...after, ...lastReads(after, final)]),
      ...lostWrites(after, final),
    ],
  };
}

/** What was there when all was over, as reads that nothing overlaps. */
function lastReads(history: readonly Operation[], final: ReadonlyMap<string, number>): Operation[] {
  const end = history.reduce((latest, { startMs, endMs }) => Math.max(latest, endMs ?? startMs), 0);
  const at = { type: "read" as const, startMs: end + 1, endMs: end + 2, revision: undefined };
  return [...final].map(([key, value]) => ({ ...at, key, value }));
}

function order(history: readonly Operation[]): string[] {
  const keys = [...Map.groupBy(history, ({ key }) => key)];
  const impossible = keys.filter(([, operations]) => !isLinearizable(operations));
  return [
    ...impossible.map(([key]) => `the history of ${key} is not linearizable`),
    ...revisionOrder(history),
  ];
}

/** What began before the loss, as if nobody had lived to see the rest. */
function beforeLoss(operation: Operation, { atMs }: Loss): Operation[] {
  if (operation.startMs >= atMs) return [];
  const { endMs, type } = operation;
  if (endMs === undefined || endMs < atMs) return [operation];
  return type === "write" ? [{ ...operation, endMs: undefined, revision: undefined }] : [];
}

/** What began after the loss, on top of what had to survive it; what could have survived may show up. */
function afterLoss(history: readonly Operation[], { atMs, revision }: Loss): Operation[] {
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
function lostWrites(history: readonly Operation[], final: ReadonlyMap<string, number>): string[] {
  const writes = history.filter(({ type }) => type === "write");
  return [...Map.groupBy(writes, ({ key }) => key)].flatMap(([key, operations]) => {
    const acknowledged = greatest(operations.filter(({ endMs }) => endMs !== undefined));
    const attempted = greatest(operations);
    const is = final.get(key) ?? 0;
    if (is >= acknowledged && is <= attempted) return [];
    return [`${key} was acknowledged up to ${acknowledged}, attempted up to ${attempted}, and is ${is}`];
  });
}

function greatest(operations: readonly Operation[]): number {
  return operations.reduce((most, { value }) => Math.max(most, value), 0);
}

/** Whoever began after another had ended must have the later revision: etcd promises strict serializability. */
function revisionOrder(history: readonly Operation[]): string[] {
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

/**
 * Whether some order of the operations, each at one moment between its start and its end, explains every read. The
 * search of Wing and Gong: take any operation that no other had to precede, undo on failure, and never look twice at
 * the same set of operations with the same value.
 */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const read = new Set(operations.flatMap(({ type, value }) => (type === "read" ? [value] : [])));
  // A write without an answer whose value nobody ever read need not have happened, since no value is written twice.
  const pending = operations
    .filter(({ type, endMs, value }) => endMs !== undefined || (type === "write" && read.has(value)))
    .sort((a, b) => a.startMs - b.startMs);
  const taken = new Array<boolean>(pending.length).fill(false);
  const seen = new Set<string>();
  let obligations = pending.filter(({ endMs }) => endMs !== undefined).length;

  /** The end before which whatever comes next must have begun. */
  const deadline = (first: number): number => {
    let earliest = Number.POSITIVE_INFINITY;
    for (let at = first; at < pending.length; at++) {
      const { startMs, endMs } = pending[at] as Operation;
      if (startMs > earliest) break;
      if (!taken[at] && endMs !== undefined && endMs < earliest) earliest = endMs;
    }
    return earliest;
  };
  /** What may come next; nothing when this set of operations was met before with the same value. */
  const choices = (first: number, value: number): number[] => {
    const until = deadline(first);
    const open: number[] = [];
    const ahead: number[] = [];
    for (let at = first; at < pending.length && (pending[at] as Operation).startMs <= until; at++) {
      if (taken[at]) ahead.push(at);
      else open.push(at);
    }
    const state = `${first}|${value}|${ahead.join(",")}`;
    if (seen.has(state)) return [];
    seen.add(state);
    return open.filter((at) => {
      const operation = pending[at] as Operation;
      return operation.type === "write" || operation.value === value;
    });
  };
  const take = (at: number, taking: boolean) => {
    taken[at] = taking;
    if ((pending[at] as Operation).endMs !== undefined) obligations += taking ? -1 : 1;
  };

  /** A stack of its own: histories are longer than what a language lets functions call themselves. */
  const path: { first: number; value: number; left: number[]; chosen?: number }[] = [
    { first: 0, value: 0, left: choices(0, 0) },
  ];
  while (obligations > 0) {
    const here = path.at(-1);
    if (!here) return false;
    if (here.chosen !== undefined) take(here.chosen, false);
    here.chosen = here.left.shift();
    if (here.chosen === undefined) {
      path.pop();
      continue;
    }
    take(here.chosen, true);
    const { type, value } = pending[here.chosen] as Operation;
    let { first } = here;
    while (taken[first]) first++;
    const next = type === "write" ? value : here.value;
    path.push({ first, value: next, left: choices(first, next) });
  }
  return true;
}
