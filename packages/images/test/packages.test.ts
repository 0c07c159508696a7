/** Debian packages from the cache, with an apt of our own that writes down what it is asked for. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fetchPackages } from "../src/debian.ts";

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

describe("packages from the cache", () => {
  let home: string;
  let env: Record<string, string>;
  let file: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "kd-"));
    env = { KEELSON_CACHE: join(home, "cache"), PATH: `${join(home, "bin")}:${process.env.PATH}` };
    file = join(home, "cache/apt/archives/tool_1.0_all.deb");
    mkdirSync(join(home, "bin"));
    program("dpkg", "echo all");
    program("dpkg-deb", "exit 1");
    program("apt-cache", `printf 'Package: tool\\nVersion: 1.0\\nSHA256: ${digestOf("genuine")}\\n'`);
    serve("genuine");
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const program = (name: string, script: string) => {
    writeFileSync(join(home, "bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(home, "bin", name), 0o755);
  };
  /** What the mirror has. */
  const serve = (content: string) =>
    program(
      "apt-get",
      `case "$*" in
        *--simulate*) echo 'Inst tool (1.0 Debian:12/stable [all])' ;;
        *--download-only*) echo asked >> ${home}/downloads; [ -e ${file} ] || printf '%s' '${content}' > ${file} ;;
      esac`,
    );
  const fetch = () => fetchPackages(["tool"], { env, installed: "nothing" });
  const downloads = () =>
    existsSync(join(home, "downloads"))
      ? readFileSync(join(home, "downloads"), "utf8").split("\n").length - 1
      : 0;

  test("one that is what the lists promise is used as it is", async () => {
    await fetch();
    await fetch();
    expect(readFileSync(file, "utf8")).toBe("genuine");
    expect(downloads()).toBe(1);
  });

  test("one that was changed is downloaded again", async () => {
    await fetch();
    writeFileSync(file, "changed");
    await fetch();
    expect(readFileSync(file, "utf8")).toBe("genuine");
    expect(downloads()).toBe(2);
  });

  test("one that the mirror has changed, or that the lists do not know, is refused by name", async () => {
    serve("evil");
    await expect(fetch()).rejects.toThrow("tool is not what the package lists promise");
    expect(existsSync(file)).toBe(false);
    serve("genuine");
    program("apt-cache", "printf 'Package: tool\\nVersion: 1.0\\n'");
    await expect(fetch()).rejects.toThrow("tool is not what the package lists promise");
  });
});
