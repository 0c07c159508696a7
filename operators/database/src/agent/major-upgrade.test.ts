import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MajorUpgrade } from "./major-upgrade.ts";

/** Data of version 15 with these files, and programs of which pg_upgrade does what it is told. */
async function volume(files: readonly string[], pgUpgrade = "exit 0") {
  const directory = await mkdtemp(join(tmpdir(), "keelson-upgrade-"));
  const programs = join(directory, "bin");
  await mkdir(programs);
  await mkdir(join(directory, "pgdata", "global"), { recursive: true });
  await writeFile(join(directory, "pgdata", "PG_VERSION"), "15\n");
  for (const file of files) await writeFile(join(directory, "pgdata", file), "");
  const scripts = {
    pg_controldata: "echo 'Database cluster state:               shut down'",
    initdb: `mkdir -p ${join(directory, "pgdata.new")}`,
    pg_upgrade: pgUpgrade.replaceAll("DATA", join(directory, "pgdata")),
    postgres: "exit 1",
  };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(programs, name), 0o755);
  }
  const upgrade = () =>
    new MajorUpgrade({
      ...{ directory, programs, oldPrograms: programs, scratch: join(directory, "upgrade") },
      ...{ initdbOptions: [], configure: async () => {}, log: { info: () => {}, warn: () => {} } },
      versions: async () => [],
    });
  return {
    upgrade,
    has: (file: string) => existsSync(join(directory, "pgdata", file)),
    [Symbol.asyncDispose]: async () => await rm(directory, { recursive: true }),
  };
}

const links = "mv DATA/global/pg_control DATA/global/pg_control.old";
const linked = { link: true, to: "17" };

test("data is as before when pg_upgrade fails", async () => {
  await using v = await volume(["global/pg_control"], `${links}; exit 1`);
  const work = v.upgrade();
  await expect(work.run(linked)).rejects.toThrow("pg_upgrade ended with 1");
  expect([work.isSpoiled, v.has("global/pg_control"), v.has("keelson-linked")]).toEqual([false, true, false]);
});

test("data that another server has written to is of no use", async () => {
  await using v = await volume(["global/pg_control"], links);
  const work = v.upgrade();
  await expect(work.run(linked)).rejects.toThrow("PostgreSQL does not start");
  expect([work.isSpoiled, v.has("global/pg_control")]).toEqual([true, false]);
});

test("also when the agent was stopped meanwhile and does not remember it", async () => {
  await using v = await volume(["global/pg_control.old", "keelson-linked"]);
  const work = v.upgrade();
  await expect(work.run(linked)).rejects.toThrow("shared files");
  expect([work.isSpoiled, v.has("global/pg_control")]).toEqual([true, false]);
});

test("an attempt that was stopped before it shared a file is made again", async () => {
  await using v = await volume(["global/pg_control", "keelson-linked"], "exit 3");
  const work = v.upgrade();
  await expect(work.run(linked)).rejects.toThrow("pg_upgrade ended with 3");
  expect([work.isSpoiled, v.has("global/pg_control")]).toEqual([false, true]);
});
