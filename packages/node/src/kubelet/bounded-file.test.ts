import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBounded } from "./bounded-file.ts";
import { readAccounts } from "./container-user.ts";

const makePipe = (path: string) => execFileSync("sh", ["-c", 'mkfifo "$0"', path]);

describe.skipIf(process.platform !== "linux")("files that strangers made", () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "kb-"));
    writeFileSync(join(home, "plain"), "0123456789");
    writeFileSync(join(home, "huge"), "");
    truncateSync(join(home, "huge"), 2 ** 40);
    symlinkSync("plain", join(home, "link"));
    makePipe(join(home, "pipe"));
    mkdirSync(join(home, "directory"));
  });
  afterAll(() => rmSync(home, { recursive: true }));
  const read = async (name: string, most = 100) => (await readBounded(join(home, name), most))?.toString();

  test("are read up to a bound", async () => {
    expect(await read("plain")).toBe("0123456789");
    expect(await read("plain", 4)).toBe("0123");
    expect(await read("huge", 4)).toHaveLength(4);
  });

  test.each(["link", "pipe", "directory", "nothing"])("a %s is not read", async (name) => {
    expect(await read(name)).toBeUndefined();
  });

  test("accounts of an image are those of the image, whatever its files are", async () => {
    const root = join(home, "root");
    mkdirSync(join(root, "etc"), { recursive: true });
    mkdirSync(join(root, "real"));
    // Absolute links mean the image's own files, and a pipe is no list of groups.
    symlinkSync("/real/passwd", join(root, "etc/passwd"));
    writeFileSync(join(root, "real/passwd"), "app:x:1:2::/home:/bin/sh\n");
    makePipe(join(root, "etc/group"));
    expect(await readAccounts(root)).toEqual({
      users: [{ name: "app", uid: 1, gid: 2, home: "/home" }],
      groups: [],
    });
  });
});
