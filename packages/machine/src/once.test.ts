import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeOnce } from "./once.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "once-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("many callers fill a directory once", async () => {
  let fills = 0;
  const target = join(home, "a", "b");
  const fill = async (directory: string) => {
    fills++;
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(directory, "file"), "x");
  };
  await Promise.all(Array.from({ length: 5 }, () => makeOnce(target, fill)));
  expect(fills).toBe(1);
  expect(existsSync(join(target, "file"))).toBe(true);
});

test("a failed fill leaves nothing behind, and the next caller tries again", async () => {
  const target = join(home, "x");
  const failing = makeOnce(target, async () => {
    throw new Error("no network");
  });
  await expect(failing).rejects.toThrow("no network");
  expect(existsSync(target)).toBe(false);
  await makeOnce(target, async (directory) => writeFileSync(join(directory, "file"), "x"));
  expect(existsSync(join(target, "file"))).toBe(true);
});
