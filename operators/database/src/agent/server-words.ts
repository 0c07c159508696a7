/** What a PostgreSQL server says on its way, and what follows from it. */
import type { Local } from "../ha/step.ts";

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
    if (/requested timeline \d+ is not a child of this server's history/.test(line))
      this.complaint = "diverged";
    if (/highest timeline \d+ of the primary is behind recovery timeline/.test(line))
      this.complaint = "diverged";
    if (
      /new timeline \d+ forked off current database system timeline \d+ before current recovery point/.test(
        line,
      )
    ) {
      this.complaint = "diverged";
    }
    if (/requested starting point \S+ on timeline \d+ is not in this server's history/.test(line)) {
      this.complaint = "diverged";
    }
  }
}
