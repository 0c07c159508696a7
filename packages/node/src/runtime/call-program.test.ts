import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callProgram, type SystemCall, text, texts } from "./call-program.ts";
import { knownProcessor, syscallNumbers } from "./syscalls.ts";

const processor = process.platform === "linux" ? knownProcessor() : undefined;

describe.skipIf(processor === undefined)("a program of system calls", () => {
  const numbers = syscallNumbers(processor ?? "x64");
  const call = (name: string, ...args: SystemCall["args"]): SystemCall => ({
    number: numbers.get(name) ?? -1,
    args,
  });
  const run = (calls: readonly SystemCall[]) => {
    const home = mkdtempSync(join(tmpdir(), "kn-program-"));
    try {
      const path = join(home, "program");
      writeFileSync(path, callProgram(calls, processor ?? "x64"));
      chmodSync(path, 0o700);
      const { status, stdout, stderr } = spawnSync(path, [], { encoding: "utf8" });
      return { status, stdout, stderr };
    } finally {
      rmSync(home, { recursive: true });
    }
  };
  const become = (path: string, argv: string[], env: string[] = []): SystemCall => ({
    ...call("execve", text(path), texts(argv), texts(env)),
    otherwise: "next",
  });

  test("makes its calls in order and becomes another program with the arguments and variables it holds", () => {
    const calls = [call("chdir", text("/usr")), become("/bin/sh", ["sh", "-c", 'pwd; echo "$A"'], ["A=a b"])];
    expect(run(calls)).toEqual({ status: 0, stdout: "/usr\na b\n", stderr: "" });
  });

  test("ends with words and 125 at a call that fails", () => {
    const calls = [{ ...call("chdir", text("/nowhere")), failure: "there is no /nowhere" }];
    expect(run(calls)).toEqual({ status: 125, stdout: "", stderr: "there is no /nowhere\n" });
  });

  test.each([
    ["is nowhere", ["/a", "/etc/passwd/b"], 127],
    ["cannot be run", ["/a", "/etc/passwd", "/b"], 126],
  ])("a program that %s has the status that a shell gives it", (_, paths, status) => {
    const end = { ...call("exit_group", 0), takesStatus: true };
    expect(run([...paths.map((path) => become(path, [path])), end])).toMatchObject({ status });
  });
});
