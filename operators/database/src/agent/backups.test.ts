import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectoryStore } from "@keelson/kit/store";
import { expect, test } from "vitest";
import { Backups, type BackupsOptions } from "./backups.ts";
import { expectPod } from "./handlers.ts";

test("a backup that is asked for again before it has begun is taken once", async () => {
  await using stack = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "keelson-backups-"));
  stack.defer(async () => await rm(path, { recursive: true }));
  await mkdir(join(path, "store"));
  const begun: string[] = [];
  const ended = Promise.withResolvers<void>();
  stack.defer(() => ended.resolve());
  const tools = {
    run: async (program: string) => {
      begun.push(program);
      await ended.promise;
      throw new Error("the test is over");
    },
  };
  const backups = new Backups({
    ...{ instance: "orders-0", programs: "", socketDirectory: "", scratch: path },
    store: async () => new DirectoryStore(join(path, "store")),
    tools: tools as unknown as BackupsOptions["tools"],
    log: { info: () => undefined, warn: () => undefined } as unknown as BackupsOptions["log"],
    describe: async () => ({ systemId: "7", timeline: 1, version: "15", dataBytes: 0 }),
  });
  const wanted = { name: "first", uid: "1" };
  const jobs = await Promise.all([backups.start(wanted), backups.start(wanted), backups.start(wanted)]);
  expect(jobs.map(({ phase }) => phase)).toEqual(["Running", "Running", "Running"]);
  await expect.poll(() => begun.length).toBeGreaterThan(0);
  expect(begun).toEqual(["pg_basebackup"]);
  expect(await backups.start({ name: "second", uid: "2" })).toMatchObject({
    phase: "Waiting",
    message: "first is being taken",
  });
});

test("a pod that has another's name does not take its backups", () => {
  const request = { name: "first", uid: "1" };
  expect(() => expectPod("old", { ...request, pod: "new" })).toThrow("has been replaced");
  expectPod("new", { ...request, pod: "new" });
  // An operator of an earlier release does not say whom it means.
  expectPod("new", request);
});

test("a backup that would fill the volume fails before anything is copied", async () => {
  await using stack = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "keelson-backups-"));
  stack.defer(async () => await rm(path, { recursive: true }));
  await mkdir(join(path, "store"));
  const begun: string[] = [];
  const backups = new Backups({
    ...{ instance: "orders-0", programs: "", socketDirectory: "", scratch: path },
    store: async () => new DirectoryStore(join(path, "store")),
    tools: { run: async (program: string) => begun.push(program) } as unknown as BackupsOptions["tools"],
    log: { info: () => undefined, warn: () => undefined } as unknown as BackupsOptions["log"],
    describe: async () => ({ systemId: "7", timeline: 1, version: "15", dataBytes: 2 ** 60 }),
  });
  await backups.start({ name: "first", uid: "1" });
  await expect.poll(() => backups.job("first")?.phase).toBe("Failed");
  expect(backups.job("first")?.message).toContain("raise spec.storage.size");
  expect(begun).toEqual([]);
});
