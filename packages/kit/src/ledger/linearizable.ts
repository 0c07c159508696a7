/** Whether the history of one key could be that of a single register that never failed. */
import type { Operation } from "./operation.ts";

/**
 * Whether some order of the operations on one key, each at one moment between its start and its end, explains every
 * read. This is the search of Wing and Gong: take any operation that no other had to precede, undo it on failure, and
 * never look twice at the same set of operations with the same value. No value may be written twice.
 */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const read = new Set(operations.flatMap(({ type, value }) => (type === "read" ? [value] : [])));
  // An unanswered write whose value was never read need not have happened, since no value is written twice.
  const pending = operations
    .filter(({ type, endMs, value }) => endMs !== undefined || (type === "write" && read.has(value)))
    .sort((a, b) => a.startMs - b.startMs);
  const taken = new Array<boolean>(pending.length).fill(false);
  const seen = new Set<string>();
  let obligations = pending.filter(({ endMs }) => endMs !== undefined).length;

  /** The next operation must have started before this time. */
  const deadline = (first: number): number => {
    let earliest = Number.POSITIVE_INFINITY;
    for (let at = first; at < pending.length; at++) {
      const { startMs, endMs } = pending[at] as Operation;
      if (startMs > earliest) break;
      if (!taken[at] && endMs !== undefined && endMs < earliest) earliest = endMs;
    }
    return earliest;
  };
  /** What may come next; empty when this set of operations was seen before with the same value. */
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

  /** An explicit stack: histories are longer than the call stack. */
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
