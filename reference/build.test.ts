import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { locateEtcd } from "./locate.ts";
import { etcdRelease } from "./releases.ts";

const { version } = etcdRelease("3.6");
let directory: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "build-"));
  mkdirSync(join(directory, "path"));
  env = { PATH: `${join(directory, "path")}:/usr/bin:/bin`, KEELSON_CACHE: join(directory, "cache") };
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Puts a stand-in for Go on the PATH; `build` runs with the path to write in $out. */
function installGo({ answer = "echo go1.99", build = "" }): void {
  const script = `#!/bin/sh
case "$1" in
  env) ${answer};;
  build)
    while [ "$1" != -o ]; do shift; done
    out=$2
    mkdir -p "$(dirname "$out")"
    ${build};;
esac
`;
  writeFileSync(join(directory, "path", "go"), script);
  chmodSync(join(directory, "path", "go"), 0o755);
}

const programThatSays = (what: string) =>
  `printf '#!/bin/sh\\necho ${what}\\n' > "$out"; chmod +x "$out"; echo "$out" >> ${join(directory, "built")}`;

function start(...args: string[]): ChildProcessWithoutNullStreams {
  const command = fileURLToPath(new URL("build.ts", import.meta.url));
  return spawn(process.execPath, ["--conditions=keelson-source", command, ...args], { env });
}

async function finished(
  child: ChildProcessWithoutNullStreams,
): Promise<{ code: number | null; out: string; err: string }> {
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code, out, err };
}

test("a name it does not know is refused, with those it knows", async () => {
  const { code, err } = await finished(start("etcd-2.0"));
  expect(code).toBe(2);
  expect(err).toMatch(
    /nothing is called etcd-2\.0[\s\S]*kubernetes-1\.36, kubernetes-1\.34, kubernetes-1\.35, kubernetes-1\.37, etcd-3\.5, etcd-3\.6, etcd-3\.7/,
  );
});

test("a machine without Go is told which one to install", async () => {
  env.PATH = join(directory, "path");
  const { code, err } = await finished(start("etcd-3.6"));
  expect(code).toBe(1);
  expect(err).toMatch(
    /^building the reference needs Go 1\.\S+ or newer, and there is no go on the PATH: install it/,
  );
});

test("a Go that is too old is told apart from none", async () => {
  installGo({ answer: '[ -e go.mod ] && { echo "go.mod requires a newer one" >&2; exit 1; }; echo go1.20' });
  const { code, err } = await finished(start("etcd-3.6"));
  expect(code).toBe(1);
  expect(err).toMatch(/needs Go 1\.\S+ or newer, and this machine has go1\.20: install it/);
});

test("two builds at once do the work once, and a third finds it done", async () => {
  installGo({ build: `sleep 0.3; ${programThatSays(version)}` });
  const results = await Promise.all([finished(start("etcd-3.6")), finished(start("etcd-3.6"))]);
  expect(results.map((result) => result.code)).toEqual([0, 0]);
  expect(readFileSync(join(directory, "built"), "utf8").trim().split("\n")).toHaveLength(3);
  expect(results.map((result) => result.out).join("")).toContain("another build of it is running: waiting");
  expect(locateEtcd("3.6", env)).toMatchObject({ version });
  const third = await finished(start("etcd-3.6"));
  expect(third.out).toMatch(/^etcd \S+: already in \S+\n$/);
});

test("a program that was removed by hand is built again", async () => {
  installGo({ build: programThatSays(version) });
  await finished(start("etcd-3.6"));
  rmSync(join(directory, "cache", "reference", `etcd-${version}`, "bin", "etcdutl"));
  expect((await finished(start("etcd-3.6"))).code).toBe(0);
  expect(locateEtcd("3.6", env)).toMatchObject({ version });
});

test("a compiler's error is shown and leaves nothing behind", async () => {
  installGo({ build: "echo 'undefined: nonsense' >&2; exit 2" });
  const { code, err } = await finished(start("etcd-3.6"));
  expect(code).toBe(1);
  expect(err).toContain("go build ended with 2:\nundefined: nonsense");
  expect(readdirSync(join(directory, "cache", "reference"))).toEqual([]);
});

test("a program that reports another version is not put in place", async () => {
  installGo({ build: programThatSays("9.9.9") });
  const { code, err } = await finished(start("etcd-3.6"));
  expect(code).toBe(1);
  expect(err).toContain(`etcd was built as ${version} but reports: 9.9.9`);
  expect(readdirSync(join(directory, "cache", "reference"))).toEqual([]);
});

test("an interrupted build stops the compiler and leaves nothing behind", async () => {
  installGo({ build: `touch ${join(directory, "compiling")}; exec sleep 60` });
  const child = start("etcd-3.6");
  await expect.poll(() => existsSync(join(directory, "compiling")), { timeout: 10_000 }).toBe(true);
  child.kill("SIGTERM");
  const { code, err } = await finished(child);
  expect(code).toBe(1);
  expect(err).toContain("stopped by SIGTERM");
  expect(readdirSync(join(directory, "cache", "reference"))).toEqual([]);
});
