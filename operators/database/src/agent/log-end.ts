/** Where the replay of an archived log ended, and whether the archive should have led further. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { formatLsn, type Lsn, maxLsn, parseLsn } from "../ha/lsn.ts";
import type { Horizon } from "./horizon.ts";

/** A position of the log. */
export interface LogPosition {
  readonly timeline: number;
  readonly lsn: Lsn;
}

/**
 * Of a server that was promoted after its replay: where each timeline before its own was left. The last one is the timeline
 * that it was to follow, left where the log ended, on whichever timeline that was.
 */
export async function readHistory(directory: string): Promise<readonly LogPosition[]> {
  const folder = join(directory, "pg_wal");
  const names = (await readdir(folder)).filter((name) => /^[0-9A-F]{8}\.history$/.test(name));
  const newest = names.sort().at(-1);
  return newest === undefined ? [] : parseHistory(await readFile(join(folder, newest), "utf8"));
}

/** Lines of a timeline, a position and a remark; comments begin with a hash. */
export function parseHistory(text: string): readonly LogPosition[] {
  return Array.from(text.matchAll(/^[ \t]*(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/gim), ([, timeline, lsn = ""]) => ({
    timeline: Number(timeline),
    lsn: parseLsn(lsn),
  }));
}

/** A part of the log that is missing: it ends before a position that it should have led to. */
export interface Gap {
  readonly end: Lsn;
  readonly until: Lsn;
}

/**
 * PostgreSQL takes a segment that is missing for the end of the log. It is not the end where the timeline that was to be
 * followed began later, or where its primary had said that everything up to a later position is archived.
 */
export function gapAfter(history: readonly LogPosition[], horizon: Horizon | undefined): Gap | undefined {
  const [followed, before] = [history.at(-1), history.at(-2)];
  if (!followed) return undefined;
  const said = horizon?.timeline === followed.timeline ? parseLsn(horizon.lsn) : undefined;
  const until = maxLsn(before?.lsn, said);
  return followed.lsn < until ? { end: followed.lsn, until } : undefined;
}

/** What a person is told, and can do. `lastCommit` is the time of the last one that was replayed. */
export function gapText({ end, until }: Gap, lastCommit: string | undefined): string {
  const advice =
    lastCommit === undefined
      ? "choose another backup"
      : `for what is before it, choose another backup or the targetTime ${lastCommit}`;
  return `the archive has a gap: its log ends at ${formatLsn(end)}, before ${formatLsn(until)}; ${advice}`;
}
