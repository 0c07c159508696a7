/** Which backups are no longer needed. */

/** One backup as retention sees it. */
export interface RetainedBackup {
  /** Identifies the backup in the result. */
  readonly key: string;
  /** `good`: it can be restored. `running` backups are never removed. */
  readonly state: "running" | "good" | "failed";
  /** When it was taken, as a time and never as a name: names sort wrongly when numbers grow or clocks change. */
  readonly takenMs: number;
  /** Whose data it is, where that can change: one of the same name may have been made again, empty. Of each the newest good one stays. */
  readonly of?: string;
}

/** How many backups stay, and for how long. */
export interface RetentionPolicy {
  /** How many good backups stay, whatever their age. At least one always stays. */
  readonly count: number;
  /** Good backups older than this are removed. Default: no limit. */
  readonly maxAgeMs?: number;
}

/** Failed backups that stay for a person to look at while they are newer than the newest good one. */
const failuresKept = 3;

/**
 * The keys of the backups to remove, oldest first. The newest good backup of anyone's data is never among them, however
 * old, and neither is one that is running.
 *
 * @example
 * expiredBackups(backups, { count: 7, maxAgeMs: 30 * 86_400_000 }, ctx.clock.now())
 */
export function expiredBackups(
  backups: readonly RetainedBackup[],
  { count, maxAgeMs }: RetentionPolicy,
  nowMs: number,
): string[] {
  const newestFirst = (a: RetainedBackup, b: RetainedBackup) =>
    b.takenMs - a.takenMs || (a.key < b.key ? 1 : -1);
  const good = backups.filter(({ state }) => state === "good").sort(newestFirst);
  const failed = backups.filter(({ state }) => state === "failed").sort(newestFirst);
  const [newest] = good;
  const newestOf = new Set(new Map(good.toReversed().map((each) => [each.of, each])).values());
  const tooMany = good.slice(Math.max(1, count));
  const tooOld = good.filter(({ takenMs }) => maxAgeMs !== undefined && nowMs - takenMs > maxAgeMs);
  const oldFailures = failed.filter(
    ({ takenMs }, index) => index >= failuresKept || (newest !== undefined && takenMs <= newest.takenMs),
  );
  return [
    ...new Set([...tooMany, ...tooOld].filter((each) => !newestOf.has(each))).union(new Set(oldFailures)),
  ]
    .sort(newestFirst)
    .reverse()
    .map(({ key }) => key);
}
