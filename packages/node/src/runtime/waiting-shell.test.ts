import { expect, test } from "vitest";
import { runInWaitingShell } from "./waiting-shell.ts";

test("a script stops at its first failing command, and what it said is told apart", async () => {
  const script = "echo out\necho err >&2\nfalse\necho never\n";
  expect(await runInWaitingShell(script)).toEqual({ code: 1, stdout: "out\n", stderr: "err\n" });
});

test("texts without a line's end, and none at all, come through whole", async () => {
  expect(await runInWaitingShell("printf text\nprintf words >&2\n")).toEqual({
    ...{ code: 0, stdout: "text", stderr: "words" },
  });
  expect(await runInWaitingShell("exit 7\n")).toEqual({ code: 7, stdout: "", stderr: "" });
});

test("a command reads what the script gives it, and nothing of the next script", async () => {
  const both = ["cat <<'END'\ngiven\nEND\n", "cat\n"].map((script) => runInWaitingShell(script));
  expect((await Promise.all(both)).map(({ stdout }) => stdout)).toEqual(["given\n", ""]);
});

test("more scripts than shells each get their own answer", async () => {
  const scripts = Array.from({ length: 40 }, (_, at) => runInWaitingShell(`echo ${at}\n`));
  expect((await Promise.all(scripts)).map(({ stdout }) => Number(stdout))).toEqual([...scripts.keys()]);
});

test("what one script sets, the next does not see", async () => {
  await runInWaitingShell("cd /\nLEFT=1\numask 077\n");
  const { stdout } = await runInWaitingShell('echo "$LEFT$(pwd)"\n');
  expect(stdout).toBe(`${process.cwd()}\n`);
});

test("a shell that is killed fails its script, and the next has another", async () => {
  await expect(runInWaitingShell("kill -9 $$\n")).rejects.toThrow("a shell ended before its script");
  expect(await runInWaitingShell("echo here\n")).toMatchObject({ stdout: "here\n" });
});
