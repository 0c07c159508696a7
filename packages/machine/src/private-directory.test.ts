import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { privateCache, privateDirectory } from "./private-directory.ts";

const modeOf = (path: string) => statSync(path).mode & 0o777;

test("a private directory is its owner's alone, also when it was everyone's before", () => {
  const home = mkdtempSync(join(tmpdir(), "kp-"));
  try {
    const [made, open] = [join(home, "a/made"), join(home, "open")];
    mkdirSync(open);
    chmodSync(open, 0o777);
    for (const path of [made, open]) expect(modeOf(privateDirectory(path))).toBe(0o700);
    expect(modeOf(privateCache({ KEELSON_CACHE: join(home, "cache") }))).toBe(0o700);
  } finally {
    rmSync(home, { recursive: true });
  }
});
