/** How many acknowledgements clients were promised, also while the spec changes. Pure. */
import type { Observed } from "../observe/observed.ts";

/**
 * Of two numbers the one that is harder to keep. A write that fewer replicas acknowledged is lost with fewer of them;
 * none at all is no promise.
 */
function harder(a: number, b: number): number {
  if (a === 0 || b === 0) return Math.max(a, b);
  return Math.min(a, b);
}

/** What the next choice of a primary must keep: the spec's promise, and an earlier one that may still count. */
export function promised({ spec, status }: Pick<Observed, "spec" | "status">): number {
  const { acknowledgements } = spec.durability;
  return harder(status.leadership?.promise ?? acknowledgements, acknowledgements);
}

/** What is recorded: an easier promise holds once every replica has all that was acknowledged under the one before. */
export function recordedPromise(o: Pick<Observed, "spec" | "status" | "caughtUp">): number {
  return o.caughtUp ? o.spec.durability.acknowledgements : promised(o);
}
