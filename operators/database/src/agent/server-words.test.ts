import { expect, test, vi } from "vitest";
import { ServerWords } from "./server-words.ts";

/** As PostgreSQL 15 and 17 have said it. */
test.each([
  [
    "FATAL:  could not start WAL streaming: ERROR:  requested timeline 2 is not in this server's history",
    "diverged",
  ],
  ["LOG:  new timeline 3 is not a child of database system timeline 2", "diverged"],
  [
    "LOG:  new timeline 2 forked off current database system timeline 1 before current recovery point 0/5000000",
    "diverged",
  ],
  ["FATAL:  highest timeline 1 of the primary is behind recovery timeline 2", "diverged"],
  ["ERROR:  requested starting point 0/5000000 on timeline 1 is not in this server's history", "diverged"],
  ["ERROR:  requested WAL segment 000000010000000000000003 has already been removed", "walGone"],
  ["LOG:  started streaming WAL from primary at 0/7000000 on timeline 1", undefined],
])("of %s follows %s", (line, complaint) => {
  using _silent = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const words = new ServerWords();
  words.heard(`2026-01-01 00:00:00.000 GMT [30] ${line}`);
  expect(words.complaint).toBe(complaint);
});
