import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePrivate } from "./private-data.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "keelson-private-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(join(home, path)).mode & 0o777;

test("a directory of somebody's is left as it is, and what holds pods' files in it is closed", () => {
  chmodSync(home, 0o755);
  mkdirSync(join(home, "volumes"), { mode: 0o777 });
  makePrivate(home);
  expect([modeOf("."), modeOf("pods"), modeOf("logs"), modeOf("volumes")]).toEqual([
    0o755, 0o700, 0o700, 0o700,
  ]);
});

test("a directory that is made is closed itself", () => {
  makePrivate(join(home, "made/here"));
  expect(modeOf("made/here")).toBe(0o700);
});
