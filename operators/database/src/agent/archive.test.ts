import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveFolder, fetch, push } from "./archive.ts";
import { pruneArchive } from "./backups.ts";

async function scratch() {
  const path = await mkdtemp(join(tmpdir(), "keelson-archive-"));
  const segment = async (text: string) => {
    const source = join(path, "segment");
    await writeFile(source, text);
    return source;
  };
  const read = async (systemId: string, name: string) => {
    const target = join(path, "fetched");
    return fetch(path, { systemId, name, target }) ? await readFile(target, "utf8") : undefined;
  };
  return { path, segment, read, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true }) };
}

test("a later primary's segment wins, and nobody else's is overwritten", async () => {
  await using s = await scratch();
  const name = "000000010000000000000007";
  push(s.path, { folder: archiveFolder("1", 2), source: await s.segment("old"), name });
  push(s.path, { folder: archiveFolder("1", 10), source: await s.segment("new"), name });
  expect(await s.read("1", name)).toBe("new");
  push(s.path, { folder: archiveFolder("1", 10), source: await s.segment("new"), name });
  const other = await s.segment("other");
  expect(() => push(s.path, { folder: archiveFolder("1", 10), source: other, name })).toThrow("different");
});

test("a backup from before a major upgrade gets no segment from after it", async () => {
  await using s = await scratch();
  const name = "000000010000000000000007";
  push(s.path, { folder: archiveFolder("2", 11), source: await s.segment("after"), name });
  expect(await s.read("1", name)).toBeUndefined();
  expect(await s.read("2", name)).toBe("after");
});

test("log from before the oldest backup goes, on every timeline; histories stay", async () => {
  await using s = await scratch();
  const folder = archiveFolder("1", 1);
  const names = [
    "000000010000000000000006",
    "000000020000000000000006",
    "000000010000000000000007",
    "00000002.history",
  ];
  for (const name of names) push(s.path, { folder, source: await s.segment(name), name });
  await pruneArchive(join(s.path, "wal", "1"), "0000000000000007");
  const left = await Promise.all(names.map(async (name) => (await s.read("1", name)) !== undefined));
  expect(left).toEqual([false, false, true, true]);
});
