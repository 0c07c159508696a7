import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  expect(isAbandoned("")).toBe(true);
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

test("a lock file without a mark, as a full disk or a power cut leaves it, is nobody's", async () => {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  const path = join(home, "lock");
  writeFileSync(path, "");
  await using _ = await holdLock(path, (pid) => new Error(`held by ${pid}`));
  expect(readFileSync(path, "utf8")).toBe(ownMark());
  expect(readdirSync(home)).toEqual(["lock"]);
  rmSync(home, { recursive: true });
});

test("a lock of another view of processes is held, and its holder may be gone", async () => {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  const path = join(home, "lock");
  writeFileSync(path, dead.replace(/^\d+/, "1"));
  const held = holdLock(path, (pid, isElsewhere) => new Error(`${pid} ${isElsewhere}`));
  await expect(held).rejects.toThrow("4194305 true");
  expect(readdirSync(home)).toEqual(["lock"]);
  rmSync(home, { recursive: true });
});

test("of many that find a dead lock one takes it", async () => {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  const path = join(home, "lock");
  for (let round = 0; round < 300; round++) {
    writeFileSync(path, dead);
    const tries = Array.from({ length: 8 }, () => holdLock(path, () => new Error("held")));
    const held = (await Promise.allSettled(tries)).filter(({ status }) => status === "fulfilled");
    expect(held).toHaveLength(1);
    rmSync(path);
  }
  expect(readdirSync(home)).toEqual([]);
  rmSync(home, { recursive: true });
});

test("one that died while it took over a dead lock keeps nobody from it", async () => {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  const path = join(home, "lock");
  for (const name of [path, `${path}.next`, `${path}.next.next`]) writeFileSync(name, dead);
  {
    await using _ = await holdLock(path, (pid) => new Error(`held by ${pid}`));
    expect(readdirSync(home)).toEqual(["lock"]);
    expect(readFileSync(path, "utf8")).toBe(ownMark());
  }
  expect(readdirSync(home)).toEqual([]);
  rmSync(home, { recursive: true });
});
