import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { giveToGroup } from "./group-ownership.ts";

describe.skipIf(process.platform !== "linux")("a volume that is given to a group", () => {
  const group = process.getuid?.() === 0 ? 4242 : (process.getgid?.() ?? 0);
  let home: string;
  let volume: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "kg-"));
    volume = join(home, "volume");
    mkdirSync(join(volume, "directory"), { recursive: true });
    for (const [name, mode] of [
      ["plain", 0o600],
      ["directory/program", 0o700],
      ["set", 0o4711],
    ] as const) {
      writeFileSync(join(volume, name), "");
      chmodSync(join(volume, name), mode);
    }
    mkdirSync(join(home, "outside"));
    chmodSync(join(home, "outside"), 0o700);
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const modeOf = (path: string) => (statSync(join(home, path)).mode & 0o7777).toString(8);

  test("belongs to it with everything inside", async () => {
    await giveToGroup(volume, group);
    expect(
      ["", "/directory", "/plain", "/directory/program", "/set"].map((path) => modeOf(`volume${path}`)),
    ).toEqual(["2775", "2775", "660", "770", "771"]);
    for (const path of ["", "directory", "plain"]) expect(statSync(join(volume, path)).gid).toBe(group);
  });

  test("takes nothing along that its links lead to", async () => {
    symlinkSync(join(home, "outside"), join(volume, "link"));
    await giveToGroup(volume, group);
    expect(modeOf("outside")).toBe("700");
  });

  test("takes nothing along while someone exchanges directories for links", async () => {
    const script = `
      const { renameSync, symlinkSync } = require("node:fs");
      process.chdir(${JSON.stringify(volume)});
      symlinkSync("../outside", "l");
      for (;;) { renameSync("directory", "t"); renameSync("l", "directory"); renameSync("directory", "l"); renameSync("t", "directory"); }`;
    const attacker = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    try {
      for (let tries = 0; tries < 500; tries++) await giveToGroup(volume, group);
    } finally {
      attacker.kill("SIGKILL");
    }
    expect(modeOf("outside")).toBe("700");
  });

  test("and is nested without end is refused", async () => {
    let path = volume;
    for (let depth = 0; depth < 600; depth++) path = join(path, "d");
    mkdirSync(path, { recursive: true });
    await expect(giveToGroup(volume, group)).rejects.toThrow("nested more than");
  });
});
