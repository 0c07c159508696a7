/** What one client asked for, and what it was answered. */

/**
 * One operation on one key. Values are positive numbers, no value is written twice to a key, and the values of a key
 * only rise. Times are in milliseconds of one monotonic clock.
 */
export interface Operation {
  readonly key: string;
  readonly type: "write" | "read";
  /** What was written, or what was read; 0 means no value. */
  readonly value: number;
  readonly startMs: number;
  /** When the answer came. Undefined without an answer: a write may then take effect at any time since, or never. */
  readonly endMs: number | undefined;
  /** The database's own counter of changes over all keys, if the answer carries one. */
  readonly revision: bigint | undefined;
}
