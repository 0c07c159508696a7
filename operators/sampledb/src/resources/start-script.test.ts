import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { volumeState } from "../agent/task.ts";
import { paths, systemUsers } from "./settings.ts";
import { livenessScript, planKey, planText, preStopScript, startScript } from "./start-script.ts";

let home = "";
const inHome = (path: string) => join(home, path);

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "sampledb-start-"));
  for (const path of [...Object.values(paths), "/bin"]) await mkdir(inHome(path), { recursive: true });
  await writeFile(inHome(`${paths.internal}/${systemUsers.replica}`), "secret");
});

afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Starts a server of that version, which says only how it was started. */
async function start(version: string): Promise<string> {
  const program = inHome("/bin/redis-server");
  const answer = `if [ "$1" = --version ]; then echo "Redis server v=${version}.15 sha=0 bits=64"; else echo "$@"; fi`;
  await writeFile(program, `#!/bin/sh\n${answer}\n`);
  await chmod(program, 0o755);
  let script = startScript;
  for (const path of Object.values(paths)) script = script.replaceAll(`${path}`, inHome(path));
  const env = { PATH: `${inHome("/bin")}:${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)("sh", ["-c", script], { env });
  return stdout.trim();
}

async function write(content: string): Promise<void> {
  await mkdir(inHome(`${paths.data}/appendonlydir`), { recursive: true });
  await writeFile(inHome(`${paths.data}/appendonlydir/appendonly.aof.manifest`), content);
}

const manifest = async (folder: string) =>
  await readFile(inHome(`${paths.data}/${folder}/appendonly.aof.manifest`), "utf8");

test("a server says by its port whether it starts on nothing", async () => {
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 2 /);
  await write("data");
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 1 /);
  expect(await readFile(inHome(`${paths.run}/auth.conf`), "utf8")).toBe('masterauth "secret"\n');
});

test("a server says on which volume it starts, and another one after the volume was wiped", async () => {
  const identity = async () => /--syslog-ident keelson-([0-9a-f-]{36})$/.exec(await start("7.0"))?.[1];
  const first = await identity();
  expect(first).toBeDefined();
  await write("data");
  expect(await identity()).toBe(first);
  await rm(inHome(paths.data), { recursive: true });
  await mkdir(inHome(paths.data));
  expect(await identity()).not.toBe(first);
});

test("data of a newer version is set aside, and data of the version that starts is not", async () => {
  const plan = inHome(`${paths.config}/${planKey(hostname())}`);
  await start("7.0");
  await write("old");
  await writeFile(plan, planText({ aside: "new-one" }));
  await start("7.0");
  expect(await manifest("appendonlydir")).toBe("old");
  await rm(plan);
  await start("8.0");
  await write("new");
  await writeFile(plan, planText({ aside: "new-two" }));
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 2 /);
  expect(await manifest(".keelson/new-two")).toBe("new");
  expect(existsSync(inHome(`${paths.data}/appendonlydir`))).toBe(false);
  await write("copied");
  await start("7.0");
  expect(await manifest("appendonlydir")).toBe("copied");
  // The same once more, as after a status that was lost.
  await rm(plan);
  await start("8.0");
  await write("new again");
  await writeFile(plan, planText({ aside: "new-two" }));
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 2 /);
  expect(await manifest(".keelson/new-two")).toBe("new again");
});

/** As a restore leaves it that was cut short, with the data that it had set aside. */
async function cutShort(): Promise<void> {
  const state = inHome(`${paths.data}/${volumeState.directory}`);
  await mkdir(join(state, "aside-one"), { recursive: true });
  await writeFile(join(state, "aside-one/appendonly.aof.manifest"), "before");
  await writeFile(join(state, volumeState.unfinished), "aside-one\n");
}

test("data that a restore set aside is put back when nothing took its place", async () => {
  await cutShort();
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 1 /);
  expect(await manifest("appendonlydir")).toBe("before");
  await rm(inHome(`${paths.data}/appendonlydir`), { recursive: true });
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 2 /);
});

test("data that a restore set aside stays there when another is in its place, also later", async () => {
  await cutShort();
  await write("restored");
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 1 /);
  expect(await manifest("appendonlydir")).toBe("restored");
  expect(await manifest(".keelson/aside-one")).toBe("before");
  await rm(inHome(`${paths.data}/appendonlydir`), { recursive: true });
  expect(await start("7.0")).toMatch(/--replicaof 127\.0\.0\.1 2 /);
});

test.each([
  ["PONG", true],
  ["LOADING Redis is loading the dataset in memory", true],
  ["AUTH failed: ERR max number of clients reached", true],
  // With TLS there is no answer before the handshake: the connection is closed.
  ["", true],
  ["Could not connect to Redis at 127.0.0.1:6379: Connection refused", false],
])("whether the process lives when redis-cli says %j", async (says, lives) => {
  const program = inHome("/bin/redis-cli");
  await writeFile(program, `#!/bin/sh\n[ -z "${says}" ] || echo "${says}" >&2\nexit 1\n`);
  await chmod(program, 0o755);
  const env = { PATH: `${inHome("/bin")}:${process.env["PATH"]}` };
  const probe = promisify(execFile)("sh", ["-c", livenessScript(false)], { env });
  expect(
    await probe.then(
      () => true,
      () => false,
    ),
  ).toBe(lives);
});

test.each([
  ["a replica stops at once", "role:slave,aof_rewrite_in_progress:0", 1],
  ["a primary without replicas stops at once", "role:master,aof_rewrite_in_progress:0", 1],
  ["a server that does not answer stops at once", "", 1],
  ["a primary with a replica waits for a while", "role:master,slave0:state=online", 41],
  ["a replica that writes its data to its volume waits", "role:slave,aof_rewrite_in_progress:1", 300],
  [
    "a primary that writes its data to its volume waits",
    "aof_rewrite_in_progress:1,role:master,slave0:state=online",
    300,
  ],
])("%s", async (_, state, looks) => {
  const program = async (name: string, script: string) => {
    await writeFile(inHome(`/bin/${name}`), `#!/bin/sh\n${script}\n`);
    await chmod(inHome(`/bin/${name}`), 0o755);
  };
  await program("redis-cli", `echo look >> "${inHome("/looks")}"\necho "${state}" | tr , "\\n"`);
  await program("sleep", "exit 0");
  await program("timeout", 'shift; exec "$@"');
  const env = { PATH: `${inHome("/bin")}:${process.env["PATH"]}` };
  await promisify(execFile)("sh", ["-c", preStopScript(false)], { env });
  expect((await readFile(inHome("/looks"), "utf8")).trim().split("\n").length).toBe(looks);
});
