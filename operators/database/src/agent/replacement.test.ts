import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Replacement } from "./replacement.ts";

async function volume(...names: readonly string[]) {
  const path = await mkdtemp(join(tmpdir(), "keelson-replacement-"));
  for (const name of names) {
    await mkdir(join(path, name));
    await writeFile(join(path, name, "who"), name);
  }
  const who = async (name: string) => await readFile(join(path, name, "who"), "utf8").catch(() => undefined);
  return { path, who, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true }) };
}

test("other data is put in place, and the way back is open, and forth again", async () => {
  await using v = await volume("pgdata", "fresh");
  const work = new Replacement(v.path);
  await work.replace("fresh");
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["fresh", "pgdata"]);
  await work.undo();
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["pgdata", "fresh"]);
  await work.undo();
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["fresh", "pgdata"]);
});

test("stopped after the first rename, it goes on", async () => {
  await using v = await volume("pgdata", "fresh");
  await rename(join(v.path, "pgdata"), join(v.path, "swapped"));
  await new Replacement(v.path).replace("fresh");
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["fresh", "pgdata"]);
});

test("stopped after the second rename, it goes on", async () => {
  await using v = await volume("pgdata", "fresh");
  await rename(join(v.path, "pgdata"), join(v.path, "swapped"));
  await rename(join(v.path, "fresh"), join(v.path, "pgdata"));
  await new Replacement(v.path).replace("fresh");
  expect([await v.who("pgdata"), await v.who("before-restore")]).toEqual(["fresh", "pgdata"]);
});

test("without anything that was kept there is no way back", async () => {
  await using v = await volume("pgdata");
  await expect(new Replacement(v.path).undo()).rejects.toThrow("nothing is kept");
  expect(await v.who("pgdata")).toBe("pgdata");
});
