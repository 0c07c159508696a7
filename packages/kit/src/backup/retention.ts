/** Which backups have served their time. */

/** One backup as retention sees it. */
export interface Kept {
  readonly key: string;
  readonly state: "running" | "good" | "failed";
  /** When it was taken, as a time and never as a name: names sort wrongly when numbers grow or clocks change. */
  readonly takenMs: number;
}

export interface Retention {
  /** How many good ones stay, whatever their age. */
  readonly count: number;
  /** Good ones older than this go. */
  readonly maxAgeMs?: number;
}

/** Failed ones that stay to be looked at while they are newer than the newest good one. */
const failuresKept = 3;

/**
 * The keys to remove, oldest first. The newest good backup is never among them, however old; what runs is left alone.
 */
export function outlived(backups: readonly Kept[], { count, maxAgeMs }: Retention, nowMs: number): string[] {
  const newestFirst = (a: Kept, b: Kept) => b.takenMs - a.takenMs || (a.key < b.key ? 1 : -1);
  const good = backups.filter(({ state }) => state === "good").sort(newestFirst);
  const failed = backups.filter(({ state }) => state === "failed").sort(newestFirst);
  const [newest] = good;
  const tooMany = good.slice(Math.max(1, count));
  const tooOld = good.slice(1).filter(({ takenMs }) => maxAgeMs !== undefined && nowMs - takenMs > maxAgeMs);
  const overcome = failed.filter(
    ({ takenMs }, index) => index >= failuresKept || (newest !== undefined && takenMs <= newest.takenMs),
  );
  return [...new Set([...tooMany, ...tooOld, ...overcome])]
    .sort(newestFirst)
    .reverse()
    .map(({ key }) => key);
}
