/** The part of a status that an operator writes itself. */

/** Fields of a status that the runtime writes. */
const ofTheRuntime = ["conditions", "observedGeneration", "inventory", "steps"] as const;

/** Keys of the runtime's fields in a status. */
export type RuntimeStatusKey = (typeof ofTheRuntime)[number];

/**
 * The status without what the runtime writes into it, to be changed and passed to `ctx.setStatus`. Empty when there is
 * no status yet.
 */
export function ownStatus<S extends object>(object: {
  readonly status?: S | undefined;
}): Partial<Omit<S, RuntimeStatusKey>> {
  const entries = Object.entries(object.status ?? {}).filter(
    ([key]) => !(ofTheRuntime as readonly string[]).includes(key),
  );
  return Object.fromEntries(entries) as Partial<Omit<S, RuntimeStatusKey>>;
}
