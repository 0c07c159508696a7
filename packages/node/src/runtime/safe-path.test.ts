import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openInside, placeOf } from "./safe-path.ts";

describe.skipIf(process.platform !== "linux")("a path inside a volume", () => {
  let home: string;
  let volume: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "ks-"));
    volume = join(home, "volume");
    mkdirSync(join(volume, "a/b"), { recursive: true });
    writeFileSync(join(volume, "a/file"), "inside");
    writeFileSync(join(home, "secret"), "outside");
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const where = async (path: string, make?: "directory" | "file") => {
    await using handle = await openInside(volume, path, { make });
    return readlinkSync(placeOf(handle));
  };

  test("is found, also through links that stay inside", async () => {
    symlinkSync("a", join(volume, "link"));
    symlinkSync("../link/./file", join(volume, "a/round"));
    expect(await where("a/b")).toBe(join(volume, "a/b"));
    expect(await where("link/b")).toBe(join(volume, "a/b"));
    expect(await where("a/round")).toBe(join(volume, "a/file"));
    expect(await where("./a//b/")).toBe(join(volume, "a/b"));
    expect(await where("")).toBe(volume);
  });

  test.each([
    ["by its name", ["../secret"], undefined],
    ["by a name that goes up further than down", ["a/../../secret"], undefined],
    ["through a link", ["out/secret"], ".."],
    ["through a link with a full path", ["out"], "/"],
    ["through a link in a circle", ["out"], "out"],
    ["through a link at its end", ["out"], "../secret"],
  ])("that leads out %s is refused, and nothing is made", async (_, paths, target) => {
    if (target !== undefined) symlinkSync(target, join(volume, "out"));
    for (const path of [...paths, ...paths.map((each) => `${each}/made/here`)]) {
      await expect(where(path, "directory")).rejects.toThrow("leads out of its volume");
      await expect(where(path, "file")).rejects.toThrow("leads out of its volume");
    }
    expect(readdirSync(home).sort()).toEqual(["secret", "volume"]);
    expect(readFileSync(join(home, "secret"), "utf8")).toBe("outside");
  });

  test("that is missing is made like its surroundings, or said to be missing", async () => {
    await expect(where("new/deep")).rejects.toMatchObject({ code: "NotFound" });
    expect(await where("new/deep", "directory")).toBe(join(volume, "new/deep"));
    expect(statSync(join(volume, "new/deep")).mode).toBe(statSync(volume).mode);
    expect(await where("files/f", "file")).toBe(join(volume, "files/f"));
    expect(statSync(join(volume, "files/f")).isFile()).toBe(true);
  });

  test("cannot be drawn out while someone exchanges directories for links", async () => {
    const script = `
      const { renameSync, symlinkSync, mkdirSync, rmSync } = require("node:fs");
      process.chdir(${JSON.stringify(volume)});
      symlinkSync("..", "l");
      for (;;) { renameSync("a", "t"); renameSync("l", "a"); renameSync("a", "l"); renameSync("t", "a"); }`;
    const attacker = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    try {
      for (let tries = 0; tries < 400; tries++) {
        const found = await where("a/b/made", "directory").catch((error: Error) => error.message);
        if (found.startsWith("/")) expect(found).toMatch(new RegExp(`^${volume}/`));
      }
    } finally {
      attacker.kill("SIGKILL");
    }
    expect(existsSync(join(home, "b"))).toBe(false);
  });
});
