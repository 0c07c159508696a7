/** What a pod's directory has mounted is not removed with it. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory, titled, whyNoSandbox } from "./node-machine.ts";

const reason = await whyNoSandbox();
const worker = join(import.meta.dirname, "mounts-worker.ts");

describe.skipIf(reason !== undefined)(titled("a directory with mounts", reason), () => {
  /** Removes directories in a namespace of its own, after the script has mounted something in them. */
  function removeAfter(script: string, ...directories: string[]): number | null {
    const program = [
      process.execPath,
      "--conditions=keelson-source",
      "--no-warnings",
      worker,
      ...directories,
    ];
    const child = spawnSync("unshare", ["-Urm", "sh", "-ec", `${script}; exec "$@"`, "sh", ...program], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    return child.status;
  }

  test("goes, and what a volume holds stays, however often and through whatever name it is mounted", async () => {
    await using home = temporaryDirectory();
    const real = join(home.path, "a b#\\c");
    mkdirSync(join(real, "volume/inner"), { recursive: true });
    writeFileSync(join(real, "volume/inner/data"), "kept");
    symlinkSync(real, join(home.path, "link"));
    const script = [`cd ${quoted(real)}`];
    for (const pod of ["sandbox", "files"]) {
      mkdirSync(join(real, pod, "mounts/0"), { recursive: true });
      writeFileSync(join(real, pod, "file"), "");
      script.push(
        `mount --bind volume ${pod}/mounts/0`,
        `mount --bind volume ${pod}/mounts/0`,
        `mount -t tmpfs none ${pod}/mounts/0/inner`,
        `mount --bind volume/inner/data ${pod}/file`,
      );
    }
    const [sandbox, files] = ["sandbox", "files"].map((pod) => join(home.path, "link", pod)) as [
      string,
      string,
    ];
    expect(removeAfter(script.join("\n"), sandbox, files)).toBe(0);
    expect(existsSync(sandbox) || existsSync(files)).toBe(false);
    expect(readFileSync(join(real, "volume/inner/data"), "utf8")).toBe("kept");
  });
});

function quoted(text: string): string {
  return `'${text}'`;
}
