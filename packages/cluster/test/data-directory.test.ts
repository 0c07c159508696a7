/** The data of a cluster is never removed, mistaken or left behind without a word. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTicksOf } from "@keelson/machine";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startCluster } from "../src/cluster.ts";
import { clusterDown, clusterUp, readRecord } from "../src/up/index.ts";

const before = process.env.KEELSON_STATE;
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kldata-"));
  process.env.KEELSON_STATE = join(home, "state");
});
afterEach(() => {
  if (before === undefined) delete process.env.KEELSON_STATE;
  else process.env.KEELSON_STATE = before;
  rmSync(home, { recursive: true, force: true });
});

const directory = () => join(home, "state/clusters/default");

/** As one that runs leaves it: this process stands for the cluster's. */
function writeRunning(rest: object = {}): void {
  mkdirSync(directory(), { recursive: true });
  const record = { name: "default", pid: process.pid, startTicks: startTicksOf(process.pid), ...rest };
  writeFileSync(join(directory(), "cluster.json"), JSON.stringify(record));
}

describe("a cluster in the background", () => {
  test("refuses a data directory among what is removed with it", async () => {
    symlinkSync(join(home, "state"), join(home, "link"));
    mkdirSync(join(home, "state"));
    for (const dataDir of ["state/clusters", "state/clusters/default/data", "link/clusters/default"]) {
      const up = clusterUp({ dataDir: join(home, dataDir), nodes: 0 });
      await expect(up).rejects.toMatchObject({ code: "BadDataDir" });
    }
    expect(existsSync(directory())).toBe(false);
  });

  test("that comes up while another command waits for its turn is left running", async () => {
    const waiting = clusterUp({ nodes: 0 });
    writeRunning();
    expect(await waiting).toMatchObject({ existed: true, pid: process.pid });
    expect(existsSync(join(directory(), "cluster.json"))).toBe(true);
  });

  test("that runs without the data directory that is asked for is not taken for one with it", async () => {
    writeRunning();
    const dataDir = join(home, "data");
    await expect(clusterUp({ dataDir })).rejects.toThrow(/is up already and keeps nothing, not in/);
    writeRunning({ dataDir: "/elsewhere" });
    await expect(clusterUp({ dataDir })).rejects.toThrow(/keeps its data in \/elsewhere, not in/);
    writeRunning({ dataDir });
    expect(await clusterUp({ dataDir })).toMatchObject({ existed: true });
  });

  test("whose record a power cut emptied does not run, and is taken down", async () => {
    writeRunning();
    writeFileSync(join(directory(), "cluster.json"), "");
    expect(await readRecord("default")).toBeUndefined();
    expect(await clusterDown()).toBe(false);
    expect(existsSync(directory())).toBe(false);
  });
});

describe("a data directory that was moved", () => {
  const options = { nodes: 0, controllers: false } as const;
  const start = (dataDir: string) => startCluster({ ...options, dataDir });

  test("is refused where its volumes would be left behind, and taken by a link at the old place", {
    timeout: 120_000,
  }, async () => {
    const [first, second] = [join(home, "first"), join(home, "second")];
    await (await start(first)).stop();
    renameSync(first, second);
    // Nothing is lost without volumes.
    await (await start(second)).stop();
    mkdirSync(join(second, "node/volumes/pvc-1_default_d"), { recursive: true });
    renameSync(second, first);
    await expect(start(first)).rejects.toMatchObject({ code: "BadDataDir" });
    await expect(start(first)).rejects.toThrow(`the data directory was ${second}`);
    symlinkSync(first, second);
    await (await start(first)).stop();
  });
});
