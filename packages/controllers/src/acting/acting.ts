/** What decisions are carried out with: the part of a reconcile's context that steps hand on. */
import { ApiError, isAlreadyExists, isConflict, isNotFound } from "@keelson/client";
import type { CacheReader, RawContext } from "@keelson/runtime/internal";
import { ControllerError } from "./errors.ts";

export type Acting = Pick<RawContext, "kind" | "event" | "clock" | "recheck" | "log" | "random">;

/** Signs writes as the program whose work this is, so that field ownership reads as on any cluster. */
export const controllerManager = "kube-controller-manager";

/** What the API server said, without what we were doing: the form in which controllers quote it. */
export function serverMessage(error: unknown): string {
  if (error instanceof ApiError && error.status.message) return error.status.message;
  return error instanceof Error ? error.message : String(error);
}

/** Whether a create failed because its namespace is going: nothing to retry, nothing to tell. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.status.details?.causes ?? []).some((cause) => cause.reason === "NamespaceTerminating")
  );
}

function isOwnerGone(error: unknown): boolean {
  return error instanceof ControllerError && error.code === "OwnerGone";
}

/** How long the first lost race waits: the winner's change is on its way through the watch. */
const raceMs = 20;
/** One that is lost again and again is no race: somebody else has what we want. */
const longestRaceMs = 30_000;

/**
 * Looks again when a write lost a race or its object, shortly at first, without the noise of a failure; a namespace on
 * its way out needs nothing any more, nor does an owner. Anything else is thrown on.
 */
export function yieldingToOthers<C extends Acting>(
  reconcile: (key: string, ctx: C) => Promise<void>,
): (key: string, ctx: C) => Promise<void> {
  const lost = new Map<string, number>();
  return async (key, ctx) => {
    try {
      await reconcile(key, ctx);
      lost.delete(key);
    } catch (error) {
      if (isNamespaceTerminating(error) || isOwnerGone(error)) return;
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
      ctx.log.debug("another writer was first; looking again", { error });
      const times = lost.get(key) ?? 0;
      lost.set(key, times + 1);
      ctx.recheck(Math.min(longestRaceMs, raceMs * 2 ** Math.min(times, 20)) * (1 + ctx.random.next()));
    }
  };
}

/** The cache of a watch by its name, in a mapping that knows what the name stands for. */
export function cacheNamed<T>(
  caches: Readonly<Record<string, CacheReader<never>>>,
  name: string,
): CacheReader<T> {
  return caches[name] as unknown as CacheReader<T>;
}
