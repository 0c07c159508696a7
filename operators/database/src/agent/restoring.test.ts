import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LineageFile } from "./lineage.ts";
import { Restoring } from "./restoring.ts";
import type { ServerFiles } from "./server-files.ts";
import type { Tools } from "./tools.ts";

const control = [
  "Database system identifier: 7",
  "Database cluster state: shut down",
  "Latest checkpoint location: 0/3000028",
  "Latest checkpoint's TimeLineID: 2",
  "Min recovery ending loc's timeline: 0",
].join("\n");

/** A volume as a stopped attempt left it, and a store that cannot be read: what is asked of it is an error. */
async function stopped(directories: Readonly<{ [name: string]: string }>, progress: object) {
  const directory = await mkdtemp(join(tmpdir(), "keelson-restoring-"));
  for (const [name, who] of Object.entries(directories)) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, "who"), who);
  }
  await mkdir(join(directory, "keelson"));
  await writeFile(join(directory, "keelson", "restore-in-place.json"), JSON.stringify(progress));
  const unread = async () => {
    throw new Error("the store is read");
  };
  const work = new Restoring({
    ...{ directory, programs: "/nowhere", log: { info: () => {}, warn: () => {} } },
    tools: { run: async () => ({ stdout: control }) } as unknown as Tools,
    files: {} as ServerFiles,
    lineage: new LineageFile(join(directory, "keelson", "lineage.json")),
    ownBackup: (backup) => ({
      backup,
      facts: unread,
      horizon: unread,
      copy: unread,
      restoreCommand: () => "",
    }),
  });
  return {
    work,
    who: async (name: string) => await readFile(join(directory, name, "who"), "utf8").catch(() => undefined),
    [Symbol.asyncDispose]: async () => await rm(directory, { recursive: true }),
  };
}

const request = { id: "restore-1", since: 3, epoch: 3 };
const restore = { ...request, backup: "first" };
const begun = { request: "restore-1@3", isInPlace: false };
const ended = { request: "restore-1@3", isInPlace: true };

test.each<[string, Readonly<{ [name: string]: string }>, object]>([
  ["when its data was complete", { pgdata: "original", restored: "restored" }, begun],
  ["when what was there had made room", { swapped: "original", restored: "restored" }, begun],
  ["when its data was in place", { pgdata: "restored", swapped: "original" }, begun],
  ["when that was noted", { pgdata: "restored", swapped: "original" }, ended],
  ["at its very end", { pgdata: "restored", "before-restore": "original" }, ended],
])("a restore that was stopped %s keeps what was there before", async (_, directories, progress) => {
  await using v = await stopped(directories, progress);
  await v.work.inPlace(restore);
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["restored", "original"]);
});

test.each<[string, Readonly<{ [name: string]: string }>, object]>([
  ["before its first step", { pgdata: "restored", "before-restore": "original" }, begun],
  ["when it knew what to put back", { pgdata: "restored", undone: "original" }, begun],
  ["when what was there had made room", { swapped: "restored", undone: "original" }, begun],
  ["when its data was in place", { pgdata: "original", swapped: "restored" }, begun],
  ["at its very end", { pgdata: "original", "before-restore": "restored" }, ended],
])("an undo that was stopped %s is not undone again", async (_, directories, progress) => {
  await using v = await stopped(directories, progress);
  await v.work.inPlace({ ...request, undo: true });
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["original", "restored"]);
});

test("data that was made for another request is not put in place", async () => {
  await using v = await stopped({ pgdata: "original", restored: "restored" }, begun);
  await expect(v.work.inPlace({ ...restore, id: "restore-2" })).rejects.toThrow("the store is read");
  expect(await v.who("pgdata")).toBe("original");
});
