import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveAgain, isArchived } from "./archive-status.ts";

const name = (timeline: number, position: number) =>
  `${timeline.toString(16).padStart(8, "0")}00000000${position.toString(16).padStart(8, "0")}`.toUpperCase();

async function directory(
  files: Readonly<{ [name: string]: "done" | "ready" }>,
  without: readonly string[] = [],
) {
  const path = await mkdtemp(join(tmpdir(), "keelson-archive-status-"));
  const notes = join(path, "pg_wal", "archive_status");
  await mkdir(notes, { recursive: true });
  for (const [file, note] of Object.entries(files)) {
    await writeFile(join(notes, `${file}.${note}`), "");
    if (!without.includes(file)) await writeFile(join(path, "pg_wal", file), "");
  }
  return {
    path,
    notes: async () => (await readdir(notes)).sort(),
    [Symbol.asyncDispose]: async () => await rm(path, { recursive: true }),
  };
}

test("a new primary archives what the one before is not known to have archived", async () => {
  await using data = await directory({ [name(1, 9)]: "done", [name(1, 10)]: "done", [name(2, 11)]: "done" });
  expect(await archiveAgain(data.path, name(1, 9))).toEqual([name(1, 10), name(2, 11)]);
  expect(await data.notes()).toEqual([`${name(1, 9)}.done`, `${name(1, 10)}.ready`, `${name(2, 11)}.ready`]);
});

test("where nothing is known, everything that is there is archived again", async () => {
  await using data = await directory({ [name(1, 9)]: "done", [name(1, 10)]: "ready" });
  expect(await archiveAgain(data.path)).toEqual([name(1, 9)]);
});

test("also that a timeline began: without its history a restore does not go on to it", async () => {
  const histories = ["00000002.history", "00000003.history", "00000004.history"];
  await using data = await directory(Object.fromEntries(histories.map((file) => [file, "done"])));
  expect(await archiveAgain(data.path, name(3, 9))).toEqual(histories.slice(1));
});

test("segments that are gone and labels of backups are left alone", async () => {
  const label = `${name(1, 9)}.00000028.backup`;
  await using data = await directory({ [name(1, 9)]: "done", [label]: "done" }, [name(1, 9)]);
  expect(await archiveAgain(data.path)).toEqual([]);
});

test.each([name(1, 9), "00000002.history"])("%s is not archived yet while it waits", async (file) => {
  await using data = await directory({ [file]: "done" });
  expect(await isArchived(data.path)).toBe(true);
  await using waiting = await directory({ [file]: "ready" });
  expect(await isArchived(waiting.path)).toBe(false);
});
