/** PostgreSQL's own notes of what is archived, in `pg_wal/archive_status`. */
import { existsSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";

/** Of a segment, or of the history of a timeline. */
const noted = /^([0-9A-F]{24}|[0-9A-F]{8}\.history)\.(done|ready)$/;

/**
 * For a standby that is about to be promoted. A standby notes every segment that it has received as archived, because that
 * is its primary's task. A primary that died had perhaps not done it, and then the archive would have a gap beyond which
 * nothing could be restored. The same goes for the histories of timelines: a restore ends, without a word, before the first
 * timeline of which the archive has none. `archived` is the last segment that is known to be archived, in order; a primary
 * archives the history of its timeline before its segments.
 */
export async function archiveAgain(dataDirectory: string, archived = ""): Promise<string[]> {
  const log = join(dataDirectory, "pg_wal");
  const notes = join(log, "archive_status");
  const names = (await readdir(notes)).flatMap((file) => {
    const [, name = "", note] = noted.exec(file) ?? [];
    const since = name.endsWith(".history") ? archived.slice(0, 8) : archived;
    return note === "done" && name > since && existsSync(join(log, name)) ? [name] : [];
  });
  for (const name of names) await rename(join(notes, `${name}.done`), join(notes, `${name}.ready`));
  return names.sort();
}

/** Whether everything that a server which was stopped has written is archived. */
export async function isArchived(dataDirectory: string): Promise<boolean> {
  const files = await readdir(join(dataDirectory, "pg_wal", "archive_status")).catch(() => undefined);
  return files !== undefined && !files.some((file) => noted.exec(file)?.[2] === "ready");
}
