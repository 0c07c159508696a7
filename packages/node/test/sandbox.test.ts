/** Real processes in real sandboxes, as the user who runs the tests. */
import { fileURLToPath } from "node:url";
import { parseImageReference } from "@keelson/images";
import { MadeImages, recipeFor } from "@keelson/images/internal";
import { ownMark } from "@keelson/machine";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchInNamespace, type NamespaceProcess } from "../src/namespace/launch.ts";
import { effectiveCapabilities } from "../src/runtime/capabilities.ts";
import { removeCgroups } from "../src/runtime/cgroups.ts";
import type { ContainerSpec } from "../src/runtime/container-runtime.ts";
import { sandboxTools, temporaryDirectory, titled, whyNoSandbox } from "./node-machine.ts";
import type { WorkerRequest } from "./sandbox-worker.ts";

const reason = await whyNoSandbox();
if (reason !== undefined) console.warn(`sandbox tests are skipped: ${reason}`);

describe.skipIf(reason !== undefined)(titled("sandboxes", reason), () => {
  const home = temporaryDirectory();
  const group = `keelson-${ownMark()}-0`;
  const images = new MadeImages();
  let namespace: NamespaceProcess;
  let requests = 0;
  let debian = "";

  const ask = <T>(request: WorkerRequest): Promise<T> => {
    const id = requests++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onMessage = (message: unknown) => {
      const answer = message as { id: number; result: T; error?: string };
      if (answer.id !== id) return;
      namespace.child.off("message", onMessage);
      if (answer.error === undefined) resolve(answer.result);
      else reject(new Error(answer.error));
    };
    namespace.child.on("message", onMessage);
    namespace.child.send({ id, request });
    return promise;
  };

  const rootOf = async (text: string) => {
    const reference = parseImageReference(text);
    const recipe = recipeFor(reference);
    if (recipe === undefined) throw new Error(`no recipe for ${text}`);
    return (await images.resolve(recipe, reference)).rootfs;
  };

  const container = (over: Partial<ContainerSpec> & { id: string }): Omit<ContainerSpec, "onOutput"> => ({
    rootfs: debian,
    readOnlyRoot: false,
    command: ["sh"],
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    cwd: "/",
    user: { uid: 0, gid: 0, groups: [] },
    mounts: [],
    capabilities: effectiveCapabilities({}, false),
    ...over,
  });

  const run = (over: Partial<ContainerSpec> & { id: string }) =>
    ask<{ code: number; output: string }>({ do: "run", pod: "a", spec: container(over), wait: true });
  const sh = (script: string) => ["sh", "-c", script];

  beforeAll(async () => {
    debian = await rootOf("debian");
    namespace = await launchInNamespace({
      module: fileURLToPath(new URL("./sandbox-worker.ts", import.meta.url)),
    });
    const tools = await sandboxTools();
    await ask({ do: "start", directory: `${home.path}/run`, tools, ids: namespace.ids.mode, group });
    await ask({ do: "pod", id: "a", hostname: "alpha", address: "10.244.0.2" });
    await ask({ do: "pod", id: "b", hostname: "beta", address: "10.244.0.3" });
  }, 300_000);

  afterAll(async () => {
    namespace?.kill();
    await namespace?.exited;
    await removeCgroups((name) => name === group);
    home[Symbol.dispose]();
  });

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
    const mounts = [{ source: home.path, target: "/vol/x", readOnly: false }];
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
    await ask({
      do: "run",
      pod: "a",
      spec: container({ id: "killed", command: ["sleep", "1000"] }),
      wait: false,
    });
    await ask({ do: "signal", container: "killed", signal: "SIGKILL" });
    expect(await ask({ do: "wait", container: "killed" })).toMatchObject({ code: 137 });
  });

  test("pods reach each other by address, and nginx opens its logs by name", async () => {
    const web = container({
      id: "web",
      rootfs: await rootOf("nginx"),
      command: ["nginx", "-g", "daemon off;"],
    });
    await ask({ do: "run", pod: "b", spec: web, wait: false });
    expect(await ask<string>({ do: "fetch", url: "http://10.244.0.3/" })).toContain("Welcome to nginx!");
    const busybox = await rootOf("busybox");
    const client = await run({
      id: "client",
      rootfs: busybox,
      command: ["wget", "-qO-", "http://10.244.0.3/"],
    });
    expect(client.output).toContain("Welcome to nginx!");
  });

  test("exec runs beside the first process with input, output and exit code of its own", async () => {
    await ask({
      do: "run",
      pod: "a",
      spec: container({ id: "host", command: ["sleep", "1000"], cwd: "/var" }),
      wait: false,
    });
    const command = sh("cat; pwd; echo complaint >&2; exit 4");
    expect(await ask({ do: "exec", container: "host", command, input: "fed\n" })).toEqual({
      code: 4,
      stdout: "fed\n/var\n",
      stderr: "complaint\n",
    });
  });

  test("exec on a terminal has a terminal", async () => {
    const command = sh("test -t 0 && test -t 1 && echo terminal");
    expect(await ask({ do: "exec", container: "host", command, tty: true })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("terminal"),
    });
  });

  test("removed pods leave no process, mount, cable or file", async () => {
    await ask({ do: "remove", pod: "a" });
    await ask({ do: "remove", pod: "b" });
    const left = await ask({ do: "census", directory: `${home.path}/run` });
    expect(left).toEqual({ processes: 2, mounts: 0, links: 0, files: 0 });
  });
});
