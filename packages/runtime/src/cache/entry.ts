/** What a cache keeps for one object. */
import type { Holder } from "./byte-store.ts";

/**
 * - parsed: `object` is there; its JSON may be too.
 * - unread: only its JSON is there.
 * - empty: neither is.
 */
export interface Entry<T> extends Holder {
  readonly key: string;
  object: T | undefined;
  /** The last read of the whole state that held the object. */
  epoch: number;
  /** The last period in which the object was read. */
  readIn: number;
}
