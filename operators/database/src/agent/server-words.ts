/** What a PostgreSQL server says on its way, and what follows from it. */
import type { Local } from "../ha/step.ts";

/** What a standby says whose log is not a part of its primary's, or that cannot become one. */
const strange: readonly RegExp[] = [
  /requested timeline \d+ is not a child of this server's history/,
  /requested timeline \d+ is not in this server's history/,
  /requested starting point \S+ on timeline \d+ is not in this server's history/,
  /highest timeline \d+ of the primary is behind recovery timeline/,
  /new timeline \d+ is not a child of database system timeline \d+/,
  /new timeline \d+ forked off current database system timeline \d+ before current recovery point/,
];

export class ServerWords {
  /** The last error. */
  last = "";
  /** About following, since it was last told whom to follow. */
  complaint: Local["complaint"];
  /** It could not write. */
  isFull = false;

  /** One line of the server. */
  heard(line: string): void {
    process.stdout.write(`${line}\n`);
    if (/\b(FATAL|PANIC|ERROR):/.test(line)) this.last = line;
    if (line.includes("No space left on device")) this.isFull = true;
    if (/requested WAL segment \S+ has already been removed/.test(line)) this.complaint = "walGone";
    if (/requested starting point .* is ahead of the WAL flush position/.test(line))
      this.complaint ??= "diverged";
    if (strange.some((words) => words.test(line))) this.complaint = "diverged";
  }
}
