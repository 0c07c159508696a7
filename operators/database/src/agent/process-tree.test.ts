import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { killLeft, killTree } from "./process-tree.ts";

/** A data directory, with a way to start processes that work in it or elsewhere. */
async function place() {
  const base = await mkdtemp(join(tmpdir(), "keelson-processes-"));
  const data = join(base, "pgdata");
  await mkdir(data);
  const start = (cwd: string) => spawn("sleep", ["300"], { cwd, stdio: "ignore" });
  return { base, data, start, [Symbol.asyncDispose]: async () => await rm(base, { recursive: true }) };
}

test("what a postmaster that has died left behind is ended, and nobody else", async () => {
  await using p = await place();
  const [postmaster, backend, other] = [p.start(p.data), p.start(p.data), p.start(p.base)];
  const ended = once(postmaster, "exit");
  postmaster.kill("SIGKILL");
  await ended;
  const left = once(backend, "exit");
  expect(killTree(postmaster.pid ?? 0, p.data)).toBe(1);
  expect((await left)[1]).toBe("SIGKILL");
  expect([killLeft(p.data), other.exitCode, other.signalCode]).toEqual([0, null, null]);
  other.kill("SIGKILL");
});

test("data that is not there has no processes", async () => {
  await using p = await place();
  expect(killLeft(join(p.base, "absent"))).toBe(0);
});
