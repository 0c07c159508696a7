/** What the termination message of an etcd container says about its data. */

/**
 * - `empty`: it was started as a member with data, and found none.
 * - `corrupt`: it found data that it cannot use.
 * - `inconsistent`: it found data that at least one other member does not have; which of the two is wrong, it cannot know.
 * - `outdatedList`: the members changed between its addition and its first start.
 * - `newer`: it found data of a newer minor than its own, which is fine and which it cannot use.
 * - `removed`: the others no longer count it; its data is there, and no start will ever bring it back.
 */
export type Diagnosis = "empty" | "corrupt" | "inconsistent" | "newer" | "outdatedList" | "removed";

/**
 * Sentences of 3.4 to 3.7 and of their storage engine. A panic may leave only the end of its stack, so the places where
 * etcd opens its data count too.
 */
const SENTENCES: readonly (readonly [RegExp, Diagnosis])[] = [
  [/the member has been permanently removed from the cluster/, "removed"],
  [/invalid downgrade; server version is lower|[mM]ustDetectDowngrade\(?/, "newer"],
  [/version \\?"3\.\d+\.0\\?" is not supported/, "newer"],
  [/could not retrieve cluster information from the given URLs/, "empty"],
  [/member count is unequal|unmatched member while checking PeerURLs/, "outdatedList"],
  [/crc mismatch|checksum error|"error":"proto: |max entry size limit exceeded/, "corrupt"],
  [/failed to (open|read|repair) WAL|cannot be repaired|wal: file not found/, "corrupt"],
  [/failed to recover v3 backend from snapshot|etcdserver\.recoverSnapshot\(/, "corrupt"],
  [/failed to find database snapshot file|no available snapshot|snap: (crc|empty)/, "corrupt"],
  [/panic: failed to open database|invalid database|invalid freelist|freepages: failed/, "corrupt"],
  [
    /assertion failed: Page expected|page \d+ already freed|unexpected page type|bbolt\.\(\*DB\)\.loadFreelist/,
    "corrupt",
  ],
  [/tocommit\(\d+\) is out of range|unexpected fault address/, "corrupt"],
  [/found data inconsistency with peers|[cC]heckInitialHashKV failed/, "inconsistent"],
];

/** Problems outside the data: another volume would not help. */
const OUTSIDE_THE_DATA =
  /no space left on device|permission denied|read-only file system|address already in use/;

export function diagnose(message: string): Diagnosis | undefined {
  if (OUTSIDE_THE_DATA.test(message)) return undefined;
  return SENTENCES.find(([pattern]) => pattern.test(message))?.[1];
}

/** The volume is full: no other settings or version of etcd would help. */
export function lacksSpace(message: string): boolean {
  return /no space left on device/.test(message);
}

const longest = 300;

/** The sentence in which etcd says why it exits, if the message has one. */
export function failureMessage(message: string): string | undefined {
  const lines = message.split("\n").reverse();
  for (const line of lines) {
    const logged =
      /"level":"(?:fatal|panic|error)".*?"msg":"([^"]*)"(?:.*?"error":"((?:[^"\\]|\\.)*)")?/.exec(line);
    const said = logged ? [logged[1], logged[2]].filter(Boolean).join(": ") : /^panic: (.*)/.exec(line)?.[1];
    const flag = /^(?:error verifying flags, .*|.*flag provided but not defined.*)/.exec(line)?.[0];
    if (said ?? flag) return (said ?? flag)?.slice(0, longest);
  }
  return undefined;
}
