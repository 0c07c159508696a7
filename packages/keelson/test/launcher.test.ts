import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const launcher = fileURLToPath(new URL("../bin/keelson.js", import.meta.url));
let work: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "keelson-launcher-"));
});
afterEach(() => rmSync(work, { recursive: true }));

/** The launcher as npm installs it into a project. */
function installed(project: string): string {
  const path = join(project, "node_modules/keelson/bin/keelson.js");
  mkdirSync(dirname(path), { recursive: true });
  cpSync(launcher, path);
  writeFileSync(join(project, "node_modules/keelson/package.json"), JSON.stringify({ type: "module" }));
  return path;
}

/** A command that prints its arguments and ends with 3. */
function installCommand(project: string): void {
  const folder = join(project, "node_modules/@keelson/cli");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "@keelson/cli", type: "module", exports: { "./main": "./main.js" } }),
  );
  writeFileSync(
    join(folder, "main.js"),
    "export async function main(args) { console.log(args.join(' ')); return 3; }",
  );
}

function run(path: string, cwd: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, "cluster", "up"], {
    cwd,
    encoding: "utf8",
  });
  return { status, stdout: stdout.trim(), stderr };
}

describe("the keelson command", () => {
  test("says what to install where @keelson/cli is not installed", () => {
    const { status, stderr } = run(installed(work), work);
    expect(status).toBe(1);
    expect(stderr).toContain("npm install --save-dev @keelson/cli");
  });

  test("is started where @keelson/cli is installed beside it", () => {
    installCommand(work);
    expect(run(installed(work), tmpdir())).toMatchObject({ status: 3, stdout: "cluster up" });
  });

  test("is started where the project that the shell is in has it", () => {
    const project = join(work, "project");
    installCommand(project);
    expect(run(installed(join(work, "global")), project)).toMatchObject({ status: 3, stdout: "cluster up" });
  });

  test("runs from its sources in this repository", () => {
    const { status, stdout } = spawnSync(process.execPath, [launcher, "--version"], { encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
  });
});
