/** Why an action that a pass decided on is not to be taken any more. */

/** What an object says about whether its operator may act; a spec without `paused` cannot be paused. */
export interface Pausable {
  readonly metadata: { readonly uid?: string; readonly deletionTimestamp?: string };
  readonly spec?: { readonly paused?: boolean } | undefined;
}

/**
 * A pass waits for servers that do not answer, and a cache may be late. `decidedBy` is the object that the pass decided by,
 * `live` what the API server has at this moment; undefined when there is none. Returns a sentence, and undefined while
 * nothing speaks against the action that was not known before. A deletion goes on although the object is paused.
 */
export function objectionTo(decidedBy: Pausable, live: Pausable | undefined): string | undefined {
  if (live === undefined || live.metadata.uid !== decidedBy.metadata.uid) return "the object is gone";
  if (live.metadata.deletionTimestamp !== undefined)
    return decidedBy.metadata.deletionTimestamp === undefined ? "the object is being deleted" : undefined;
  return live.spec?.paused && !decidedBy.spec?.paused ? "spec.paused is set" : undefined;
}
