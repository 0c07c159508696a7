import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { restore } from "./restore.ts";

/** The next change of the volume after so many does not happen: the process was killed. */
const life = vi.hoisted(() => ({ changes: Number.POSITIVE_INFINITY }));

vi.mock(import("node:fs/promises"), async (original) => {
  const real = await original();
  const mortal = <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    (async (...args: A) => {
      if (life.changes-- <= 0) throw new Error("killed");
      return await work(...args);
    }) as never;
  return { ...real, rename: mortal(real.rename), rm: mortal(real.rm), writeFile: mortal(real.writeFile) };
});

let volume = "";

beforeEach(async () => {
  volume = await mkdtemp(join(tmpdir(), "sampledb-restore-"));
  await put("appendonlydir", "now");
  await put(".keelson/aside-x", "before");
});

afterEach(async () => {
  life.changes = Number.POSITIVE_INFINITY;
  await rm(volume, { recursive: true, force: true });
});

async function put(folder: string, data: string): Promise<void> {
  await mkdir(join(volume, folder), { recursive: true });
  await writeFile(join(volume, folder, "data"), data);
}

async function has(folder: string): Promise<string | undefined> {
  const file = join(volume, folder, "data");
  return existsSync(file) ? await readFile(file, "utf8") : undefined;
}

const goBack = async (id: string) =>
  await restore({ do: "restore", id, from: { aside: "aside-x" }, rdbVersion: 10, directory: volume });

/** The mark that it is under way, two renames, the mark that it is done, and the first mark gone. */
const moments = [0, 1, 2, 3, 4, 5];

test.each(moments)("a restore that was killed after %i changes is completed by the next run", async (n) => {
  life.changes = n;
  await goBack("r").catch(() => undefined);
  life.changes = Number.POSITIVE_INFINITY;
  expect(await goBack("r")).toEqual({ aside: "aside-r" });
  expect(await has("appendonlydir")).toBe("before");
  expect(await has(".keelson/aside-r")).toBe("now");
});

test.each(moments)("another restore after %i changes sets aside what was served", async (n) => {
  life.changes = n;
  await goBack("r").catch(() => undefined);
  life.changes = Number.POSITIVE_INFINITY;
  const served = n >= 3 ? "before" : "now";
  await put(".keelson/aside-x", "another");
  await goBack("s");
  expect(await has("appendonlydir")).toBe("another");
  expect(await has(".keelson/aside-s")).toBe(served);
});
