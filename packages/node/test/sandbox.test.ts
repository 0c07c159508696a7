/** Real processes in real sandboxes, as the user who runs the tests. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { rootOf, type Sandboxes, sh, startSandboxes, type TestContainer } from "./sandboxes.ts";

const reason = await whyNoSandbox();
if (reason !== undefined) console.warn(`sandbox tests are skipped: ${reason}`);

describe.skipIf(reason !== undefined)(titled("sandboxes", reason), () => {
  let sandboxes: Sandboxes;
  const run = (over: TestContainer) => sandboxes.run(over);
  beforeAll(async () => {
    sandboxes = await startSandboxes();
  }, 300_000);
  afterAll(async () => await sandboxes?.[Symbol.asyncDispose]());

  test("a container's first process is the command, with its host name, directory and environment", async () => {
    const env = { PATH: "/usr/bin", GREETING: "hello world" };
    const { code, output } = await run({
      id: "first",
      command: sh('echo $$ $(hostname) $PWD "$GREETING"; exit 3'),
      env,
      cwd: "/tmp",
    });
    expect({ code, output }).toEqual({ code: 3, output: "1 alpha /tmp hello world\n" });
  });

  test("what a container writes is gone with it, and the image stays as it was", async () => {
    await run({ id: "w1", command: sh("echo x > /etc/mark; rm /etc/passwd") });
    const { output } = await run({ id: "w2", command: sh("ls /etc/mark /etc/passwd 2>/dev/null") });
    expect(output).toBe("/etc/passwd\n");
  });

  test("a read-only root refuses writes, its volumes do not", async () => {
    const mounts = [{ source: sandboxes.home, target: "/vol/x", readOnly: false }];
    const { output } = await run({
      id: "ro",
      readOnlyRoot: true,
      mounts,
      command: sh("echo 1 > /f || echo refused; echo 1 > /vol/x/f && echo kept"),
    });
    expect(output).toContain("refused");
    expect(output).toContain("kept");
  });

  test("a user id is what the container sees, and it can write to its standard output by name", async () => {
    const user = { uid: 999, gid: 998, groups: [] };
    const { output } = await run({ id: "uid", user, command: sh("echo $(id -u):$(id -g) > /dev/stdout") });
    expect(output).toBe("999:998\n");
  });

  test("death by signal is 128 and its number", async () => {
    await sandboxes.start({ id: "killed" });
    await sandboxes.ask({ do: "signal", container: "killed", signal: "SIGKILL" });
    expect(await sandboxes.ask({ do: "wait", container: "killed" })).toMatchObject({ code: 137 });
  });

  test("pods reach each other by address, and nginx opens its logs by name", async () => {
    const web = sandboxes.container({
      id: "web",
      rootfs: await rootOf("nginx"),
      command: ["nginx", "-g", "daemon off;"],
    });
    await sandboxes.ask({ do: "run", pod: "b", spec: web, wait: false });
    expect(await sandboxes.ask<string>({ do: "fetch", url: "http://10.244.0.3/" })).toContain(
      "Welcome to nginx!",
    );
    const busybox = await rootOf("busybox");
    const client = await run({
      id: "client",
      rootfs: busybox,
      command: ["wget", "-qO-", "http://10.244.0.3/"],
    });
    expect(client.output).toContain("Welcome to nginx!");
  });

  test("exec runs beside the first process with input, output and exit code of its own", async () => {
    await sandboxes.start({ id: "host", cwd: "/var" });
    const command = sh("cat; pwd; echo complaint >&2; exit 4");
    expect(await sandboxes.ask({ do: "exec", container: "host", command, input: "fed\n" })).toEqual({
      code: 4,
      stdout: "fed\n/var\n",
      stderr: "complaint\n",
    });
  });

  test("exec on a terminal has a terminal", async () => {
    const command = sh("test -t 0 && test -t 1 && echo terminal");
    expect(await sandboxes.ask({ do: "exec", container: "host", command, tty: true })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("terminal"),
    });
  });

  test("removed pods leave no process, mount, cable or file", async () => {
    await sandboxes.ask({ do: "remove", pod: "a" });
    await sandboxes.ask({ do: "remove", pod: "b" });
    const left = await sandboxes.ask({ do: "census", directory: `${sandboxes.home}/run` });
    expect(left).toEqual({ processes: 2, mounts: 0, links: 0, files: 0 });
  });
});
