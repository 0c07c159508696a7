/** What etcd's last words say about its data. */

/**
 * - `empty`: it was told that it has data, and found none.
 * - `corrupt`: it found data that it cannot use.
 * - `outdatedList`: the members changed between its addition and its first start.
 */
export type Diagnosis = "empty" | "corrupt" | "outdatedList";

/** Sentences of 3.4 to 3.7 and of its storage engine. */
const SENTENCES: readonly (readonly [RegExp, Diagnosis])[] = [
  [/could not retrieve cluster information from the given URLs/, "empty"],
  [/member count is unequal|unmatched member while checking PeerURLs/, "outdatedList"],
  [/crc mismatch|checksum error|invalid database|invalid freelist/, "corrupt"],
  [
    /failed to (open|read|repair|create) WAL|cannot be repaired|wal: (file not found|max entry size)/,
    "corrupt",
  ],
  [/failed to recover v3 backend from snapshot|failed to find database snapshot file/, "corrupt"],
  [
    /failed to (open database|recover from snapshot|load.* snapshot)|snap: (crc|empty)|no available snapshot/,
    "corrupt",
  ],
  [/tocommit\(\d+\) is out of range/, "corrupt"],
  [/found data inconsistency with peers|checkInitialHashKV|CheckInitialHashKV/, "corrupt"],
  [/unexpected fault address|page \d+ already freed|[Pp]age expected to be|unexpected page type/, "corrupt"],
];

export function diagnose(lastWords: string): Diagnosis | undefined {
  return SENTENCES.find(([pattern]) => pattern.test(lastWords))?.[1];
}
