import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acquireHeartbeatLock } from "./heartbeat-lock.ts";

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "build-lock-"));
  path = join(directory, "etcd.lock");
});
afterEach(() => rmSync(directory, { recursive: true }));

test("a second builder is told to wait and gets the lock when the first releases it", async () => {
  const first = await acquireHeartbeatLock(path);
  const order: string[] = [];
  const waited = Promise.withResolvers<void>();
  const second = acquireHeartbeatLock(path, { onWait: waited.resolve }).then((lock) => {
    order.push("second has it");
    return lock;
  });
  await waited.promise;
  order.push("first releases it");
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  expect(order).toEqual(["first releases it", "second has it"]);
  expect(existsSync(path)).toBe(false);
});

test("the lock of an owner that died is taken over without waiting", async () => {
  writeFileSync(path, "somebody who was killed");
  const past = new Date(Date.now() - 11_000);
  utimesSync(path, past, past);
  let waited = false;
  const lock = await acquireHeartbeatLock(path, { onWait: () => (waited = true) });
  expect(waited).toBe(false);
  lock[Symbol.dispose]();
});

test("an owner that was taken for dead does not release its successor's lock", async () => {
  const slow = await acquireHeartbeatLock(path);
  writeFileSync(path, "the successor");
  slow[Symbol.dispose]();
  expect(existsSync(path)).toBe(true);
});

test("waiting ends when it is aborted", async () => {
  const held = await acquireHeartbeatLock(path);
  const abort = new AbortController();
  const waiting = acquireHeartbeatLock(path, { onWait: () => abort.abort(), signal: abort.signal });
  await expect(waiting).rejects.toThrow();
  held[Symbol.dispose]();
});
