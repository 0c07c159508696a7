import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holdLock, isAbandoned, ownMark } from "./owner.ts";

/** The same view of processes, and a process that cannot be. */
const dead = ownMark().replace(/-\d+-\d+$/, "-4194305-1");

test("a mark is abandoned when its process is gone, or its number another's", () => {
  expect(isAbandoned(ownMark())).toBe(false);
  expect(isAbandoned(dead)).toBe(true);
  expect(isAbandoned(ownMark().replace(/\d+$/, "1"))).toBe(true);
});

test("a mark from another view of processes is left alone", () => {
  expect(isAbandoned(dead.replace(/^\d+/, "1"))).toBe(false);
});

test("a lock is held by one, and inherited from the dead", async () => {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  const path = join(home, "lock");
  const inUse = (pid: string) => new Error(`the thing is held by ${pid}`);
  writeFileSync(path, dead);
  {
    await using _ = await holdLock(path, inUse);
    await expect(holdLock(path, inUse)).rejects.toThrow(`the thing is held by ${process.pid}`);
  }
  await using _ = await holdLock(path, inUse);
  rmSync(home, { recursive: true });
});
