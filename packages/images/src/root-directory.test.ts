import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RootDirectory } from "./root-directory.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "root-"));
  mkdirSync(join(home, "root/var"), { recursive: true });
  mkdirSync(join(home, "outside"));
  // Absolute, as in a real image: inside the container it would lead to the container's own directory.
  symlinkSync(join(home, "outside"), join(home, "root/var/run"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("an absolute link in an image never leads out of it", async () => {
  const root = new RootDirectory(join(home, "root"));
  await root.directory("var/run/postgresql", 0o777);
  await root.write("var/run/x", "text");
  await root.link("var/run/y", "/z");
  expect(readdirSync(join(home, "outside"))).toEqual([]);
  const inside = join(home, "root", home, "outside");
  expect(readdirSync(inside).sort()).toEqual(["postgresql", "x", "y"]);
  expect(readFileSync(join(inside, "x"), "utf8")).toBe("text");
});
